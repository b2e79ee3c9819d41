// The page of a drawing: which panel is shown, how far one is zoomed in, what was clicked.
// Texts come from files of strangers: they only ever become text nodes.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const sheet = byId("sheet"), view = byId("view"), details = byId("details");
  const input = byId("search"), found = byId("found"), copies = byId("copies"), copy = byId("copy");

  // Where we are: panels from the model's inwards, each with the copy that is looked at.
  let trail = [];
  let selected = null;
  let scale = 1, left = 0, top = 0;

  // --- finding layers -------------------------------------------------------------------------

  // For each scene and layer: the panels to open, copy by copy, and the box.
  const homes = data.scenes.map((scene) => new Array(scene.layers.length));
  const scenePanel = (scene) => data.panels[data.scenes[scene].root];

  // Walks the panels of a scene; the stack is our own.
  function settle(scene) {
    const { row, units, root } = data.scenes[scene];
    const waiting = [{ panel: root, shift: 0, way: [{ panel: root, copy: 0, shift: 0 }] }];
    const put = (layer, way, box) => { homes[scene][layer] ??= { way, box }; };
    while (waiting.length) {
      const { panel, shift, way } = waiting.pop();
      data.panels[panel].vertices.forEach((vertex, box) => {
        if (vertex.node !== undefined) put(vertex.node, way, box);
        if (vertex.place === undefined) return;
        if (vertex.copies) {
          for (let c = 0; c < vertex.copies; c++) {
            const moved = shift + c * vertex.length;
            const step = { panel: vertex.panel, copy: c, shift: moved };
            waiting.push({ panel: vertex.panel, shift: moved, way: [...way, step] });
          }
          return;
        }
        const [nodes, hidden] = units[row[vertex.place + shift]];
        for (const layer of [...nodes, ...hidden]) put(layer, way, box);
      });
    }
  }
  data.scenes.forEach((_, scene) => settle(scene));

  const here = () => trail[trail.length - 1];
  const panelHere = () => data.panels[here().panel];

  // --- what is shown --------------------------------------------------------------------------

  function element(tag, text, parent, name) {
    const made = document.createElement(tag);
    if (text !== undefined && text !== null) made.textContent = text;
    if (name) made.className = name;
    if (parent) parent.append(made);
    return made;
  }

  function button(text, parent, name, action) {
    const made = element("button", text, parent, name);
    made.type = "button";
    made.addEventListener("click", action);
    return made;
  }

  function show(way, keep) {
    const before = trail.length ? here().panel : -1;
    trail = way;
    const { panel } = here();
    if (panel !== before) {
      document.querySelector(".panel.shown")?.classList.remove("shown");
      byId("p" + panel).classList.add("shown");
      if (!keep) begin();
    }
    const nav = byId("trail");
    nav.replaceChildren();
    trail.forEach((step, depth) => {
      if (depth) nav.append(" › ");
      const { title } = data.panels[step.panel];
      if (depth + 1 === trail.length) element("b", title, nav);
      else button(title, nav, "", () => { select(null); show(trail.slice(0, depth + 1)); });
    });
    const number = panelHere().copies;
    copies.hidden = !number;
    copy.replaceChildren();
    for (let c = 0; c < (number || 0); c++) {
      element("option", `${c + 1} of ${number}`, copy).value = c;
    }
    copy.value = here().copy;
  }

  copy.addEventListener("change", () => {
    const step = here(), number = Number(copy.value);
    const shift = step.shift + (number - step.copy) * panelHere().length;
    const box = selected;
    show([...trail.slice(0, -1), { ...step, copy: number, shift }], true);
    select(box);
  });

  function open(panel) {
    select(null);
    show([...trail, { panel, copy: 0, shift: here().shift }]);
  }

  // --- zoom and pan ---------------------------------------------------------------------------

  function move() {
    view.setAttribute("transform", `translate(${left} ${top}) scale(${scale})`);
  }

  function zoom(factor, x, y) {
    const next = Math.min(4, Math.max(0.02, scale * factor));
    left = x - (x - left) * (next / scale);
    top = y - (y - top) * (next / scale);
    scale = next;
    move();
  }

  const middle = () => [sheet.clientWidth / 2, sheet.clientHeight / 2];

  function fit() {
    const [width, height] = panelHere().size;
    const room = [sheet.clientWidth - 40, sheet.clientHeight - 40];
    scale = Math.min(1.5, room[0] / Math.max(width, 1), room[1] / Math.max(height, 1));
    scale = Math.max(scale, 0.02);
    left = (sheet.clientWidth - width * scale) / 2;
    top = (sheet.clientHeight - height * scale) / 2;
    move();
  }

  // All of it if it can be read then, else the beginning at a size that can.
  function begin() {
    fit();
    if (scale >= 0.6) return;
    const first = document.querySelector("#p" + here().panel + " .n rect");
    scale = Math.min(1, Math.max(0.6, (sheet.clientWidth - 40) / panelHere().size[0]));
    const x = first ? Number(first.getAttribute("x")) + Number(first.getAttribute("width")) / 2 : 0;
    const width = panelHere().size[0] * scale;
    left = width <= sheet.clientWidth ? (sheet.clientWidth - width) / 2
      : sheet.clientWidth / 2 - x * scale;
    top = 24;
    move();
  }

  sheet.addEventListener("wheel", (event) => {
    event.preventDefault();
    const area = sheet.getBoundingClientRect();
    const amount = event.deltaMode ? event.deltaY * 16 : event.deltaY;
    zoom(Math.exp(-amount / 400), event.clientX - area.left, event.clientY - area.top);
  }, { passive: false });

  let drag = null;
  sheet.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    drag = { x: event.clientX - left, y: event.clientY - top, moved: false, id: event.pointerId,
      from: [event.clientX, event.clientY] };
  });
  sheet.addEventListener("pointermove", (event) => {
    if (!drag || drag.id !== event.pointerId) return;
    const far = Math.abs(event.clientX - drag.from[0]) + Math.abs(event.clientY - drag.from[1]);
    if (!drag.moved && far < 4) return;
    if (!drag.moved) sheet.setPointerCapture(drag.id);
    drag.moved = true;
    sheet.classList.add("drags");
    left = event.clientX - drag.x;
    top = event.clientY - drag.y;
    move();
  });
  const drop = () => {
    sheet.classList.remove("drags");
    // A click follows at once; it must still see that this was no click.
    const last = drag;
    setTimeout(() => { if (drag === last) drag = null; }, 0);
  };
  sheet.addEventListener("pointerup", drop);
  sheet.addEventListener("pointercancel", drop);

  const boxOf = (event) => {
    const box = event.target.closest(".n");
    return box ? Number(box.dataset.v.split(".")[1]) : null;
  };
  sheet.addEventListener("click", (event) => {
    if (!drag?.moved) select(boxOf(event));
  });
  sheet.addEventListener("dblclick", (event) => {
    const box = boxOf(event);
    const inner = box === null ? null : insideOf(box)[0];
    if (inner) inner.go();
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = ["INPUT", "SELECT"].includes(document.activeElement?.tagName);
    if (event.key === "Escape") {
      if (typing || !found.hidden) { input.blur(); found.hidden = true; sheet.focus(); }
      else if (selected !== null) select(null);
      else if (trail.length > 1) show(trail.slice(0, -1));
      return;
    }
    if (typing) return;
    const pan = (x, y) => { left += x; top += y; move(); };
    const keys = {
      "/": () => input.focus(), "+": () => zoom(1.25, ...middle()), "=": () => zoom(1.25, ...middle()),
      "-": () => zoom(0.8, ...middle()), "0": fit,
      ArrowLeft: () => pan(80, 0), ArrowRight: () => pan(-80, 0),
      ArrowUp: () => pan(0, 80), ArrowDown: () => pan(0, -80),
      PageUp: () => pan(0, sheet.clientHeight * 0.8), PageDown: () => pan(0, -sheet.clientHeight * 0.8),
      Home: begin,
      Enter: () => { if (selected !== null) insideOf(selected)[0]?.go(); },
    };
    const action = keys[event.key];
    if (action) { event.preventDefault(); action(); }
  });
  byId("in").addEventListener("click", () => zoom(1.25, ...middle()));
  byId("out").addEventListener("click", () => zoom(0.8, ...middle()));
  byId("fit").addEventListener("click", fit);
  addEventListener("resize", move);

  // --- details --------------------------------------------------------------------------------

  // The layers that a box of this panel stands for, in the copy that is looked at; drawn ones and
  // those that are hidden in it.
  function layersOf(box) {
    const panel = panelHere(), vertex = panel.vertices[box];
    const scene = data.scenes[panel.scene];
    if (vertex.node !== undefined) return [[vertex.node], []];
    if (vertex.place === undefined) return [[], []];
    const all = [[], []];
    const count = (vertex.copies || 1) * (vertex.length || 1);
    for (let at = 0; at < count; at++) {
      const [nodes, hidden] = scene.units[scene.row[vertex.place + here().shift + at]];
      all[0].push(...nodes);
      all[1].push(...hidden);
    }
    return all;
  }

  // What opens: a block, layers that compute a shape, bodies.
  function insideOf(box) {
    const panel = panelHere(), vertex = panel.vertices[box], all = [];
    if (vertex.panel !== undefined && vertex.panel !== null) {
      all.push({ name: "open", go: () => open(vertex.panel) });
    }
    const [nodes] = layersOf(box);
    if (nodes.length === 1) {
      for (const [kind, inner] of data.scenes[panel.scene].layers[nodes[0]].bodies || []) {
        if (inner === null) continue;
        const go = () => {
          select(null);
          show([...trail, { panel: inner, copy: 0, shift: 0 }]);
        };
        all.push({ name: "open " + kind, go });
      }
    }
    return all;
  }

  function select(box) {
    document.querySelector(".n.at")?.classList.remove("at");
    for (const wire of document.querySelectorAll(".w.on")) wire.classList.remove("on");
    selected = box;
    if (box === null) return describeModel();
    const { panel } = here();
    document.querySelector(`[data-v="${panel}.${box}"]`)?.classList.add("at");
    for (const wire of document.querySelectorAll(`#p${panel} .w`)) {
      const touches = Number(wire.dataset.f) === box || wire.dataset.t.split(" ").includes(String(box));
      if (touches) wire.classList.add("on");
    }
    describe(box);
  }

  function describeModel() {
    details.replaceChildren();
    element("h2", data.model || "model", details);
    element("p", data.format, details);
    const count = data.scenes.reduce((sum, scene) => sum + scene.layers.length, 0);
    element("p", `${count} layers`, details);
    element("h3", "keys", details);
    const list = element("dl", null, details);
    for (const [key, does] of [["click", "details of a layer"], ["double click, Enter", "open a block"],
      ["Esc", "back"], ["/", "search"], ["+  -  0", "zoom, show all"], ["arrows, drag", "move"]]) {
      element("dt", key, list);
      element("dd", does, list);
    }
  }

  function section(title) {
    element("h3", title, details);
    return element("ul", null, details);
  }

  function linkTo(scene, layer, parent, more) {
    const item = element("li", null, parent);
    const { name, type } = data.scenes[scene].layers[layer];
    button(`${type} ${name}`, item, "link", () => go(scene, layer));
    if (more) { item.append(" "); element("code", more, item); }
  }

  function describe(box) {
    details.replaceChildren();
    const panel = panelHere(), vertex = panel.vertices[box];
    const [nodes, hidden] = layersOf(box);
    const drawn = document.querySelectorAll(`[data-v="${here().panel}.${box}"] text`);
    if (nodes.length === 1) {
      describeLayer(panel.scene, nodes[0], hidden, box);
      return;
    }
    element("h2", drawn[0]?.textContent, details);
    for (const line of [...drawn].slice(1)) element("p", line.textContent, details);
    for (const inner of insideOf(box)) button(inner.name, details, "open", inner.go);
    if (!nodes.length) return;
    const MOST = 200;
    const list = section(vertex.copies ? `layers of ${vertex.copies} copies` : "layers");
    for (const layer of nodes.slice(0, MOST)) linkTo(panel.scene, layer, list, numbers(panel.scene, layer));
    if (nodes.length > MOST) element("li", `and ${nodes.length - MOST} more`, list);
  }

  function numbers(scene, layer) {
    const all = data.scenes[scene].layers[layer].measured || [];
    return all.filter((text) => text !== null).join(", ");
  }

  function describeLayer(scene, index, hidden, box) {
    const { layers } = data.scenes[scene], layer = layers[index];
    element("h2", layer.type, details);
    element("p", layer.name, details);
    if (box !== null) for (const inner of insideOf(box)) button(inner.name, details, "open", inner.go);
    const list = element("dl", null, details);
    const row = (name, value) => {
      if (value === undefined || value === null || value === "") return;
      element("dt", name, list);
      element("code", value, element("dd", null, list));
    };
    row("id", layer.id);
    row("version", layer.opset);
    row("value", layer.value);
    data.measured.forEach((name, at) => row(name, layer.measured?.[at]));
    if (layer.attributes) {
      element("h3", "attributes", details);
      const pairs = element("dl", null, details);
      for (const [name, value] of layer.attributes) {
        element("dt", name, pairs);
        element("code", value, element("dd", null, pairs));
      }
    }
    if (layer.inputs) {
      const inputs = section("inputs");
      layer.inputs.forEach(([from, port]) => {
        const source = layers[from], output = source.outputs?.[port];
        linkTo(scene, from, inputs, source.value ?? output?.[0]);
      });
    }
    if (layer.outputs) {
      const outputs = section("outputs");
      layer.outputs.forEach(([shape, names], port) => {
        const item = element("li", null, outputs);
        element("code", shape || "?", item);
        if (names.length) item.append(" " + names.join(", "));
        const takers = [];
        layers.forEach((other, at) => {
          if (other.inputs?.some(([from, p]) => from === index && p === port)) takers.push(at);
        });
        const to = element("ul", null, item);
        for (const taker of takers.slice(0, 40)) linkTo(scene, taker, to);
        if (takers.length > 40) element("li", `and ${takers.length - 40} more`, to);
      });
    }
    if (hidden.length) {
      const within = section("constants within");
      for (const other of hidden.slice(0, 60)) {
        linkTo(scene, other, within, layers[other].value ?? layers[other].outputs?.[0]?.[0]);
      }
    }
  }

  // Shows a layer, wherever it is.
  function go(scene, layer) {
    const home = homes[scene][layer];
    if (!home) return;
    const outer = trail.findIndex((step) => data.panels[step.panel].scene === scene);
    let way = home.way;
    if (outer > 0) way = [...trail.slice(0, outer), ...way];
    else if (scene !== data.panels[0].scene) way = [{ panel: 0, copy: 0, shift: 0 }, ...way];
    show(way);
    select(home.box);
    const [nodes, hidden] = layersOf(home.box);
    if (nodes.length !== 1 || hidden.includes(layer)) {
      details.replaceChildren();
      describeLayer(scene, layer, [], null);
    }
    const rect = document.querySelector(`[data-v="${here().panel}.${home.box}"] rect`);
    const number = (name) => Number(rect.getAttribute(name));
    if (scale < 0.5) scale = 1;
    left = sheet.clientWidth / 2 - (number("x") + number("width") / 2) * scale;
    top = sheet.clientHeight / 2 - (number("y") + number("height") / 2) * scale;
    move();
  }

  // --- search ---------------------------------------------------------------------------------

  const every = [];
  data.scenes.forEach((scene, s) => scene.layers.forEach((layer, l) => {
    if (!homes[s][l]) return;
    const tensors = (layer.outputs || []).flatMap(([, names]) => names);
    const text = [layer.name, layer.type, ...tensors].join("\n").toLowerCase();
    every.push({ s, l, layer, text });
  }));
  let hits = [], at = 0;

  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.replaceChildren();
    found.hidden = !words.length;
    if (!words.length) return;
    const exact = (entry) => String(entry.layer.id) === words[0] && words.length === 1;
    const fits = (entry) => exact(entry) || words.every((word) => entry.text.includes(word));
    const rank = (entry) => exact(entry) ? 0 : entry.layer.name.toLowerCase() === words[0] ? 1
      : entry.layer.type.toLowerCase() === words[0] ? 2 : 3;
    const all = every.filter(fits).sort((a, b) => rank(a) - rank(b));
    hits = all.slice(0, 60);
    at = 0;
    hits.forEach((entry, index) => {
      const item = element("li", null, found);
      element("b", entry.layer.type, item);
      item.append(" " + entry.layer.name + " ");
      element("small", entry.layer.id === undefined ? "" : "#" + entry.layer.id, item);
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(index); });
    });
    if (!all.length) element("li", "no layer", found, "none");
    if (all.length > hits.length) element("li", `and ${all.length - hits.length} more`, found, "none");
    mark();
  }

  function mark() {
    [...found.children].forEach((item, index) => item.classList.toggle("at", hits.length > 0 && index === at));
    found.children[at]?.scrollIntoView({ block: "nearest" });
  }

  function choose(index) {
    const hit = hits[index];
    if (!hit) return;
    found.hidden = true;
    input.blur();
    go(hit.s, hit.l);
    sheet.focus();
  }

  input.addEventListener("input", search);
  input.addEventListener("focus", search);
  input.addEventListener("blur", () => { found.hidden = true; });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") choose(at);
    else if (event.key === "ArrowDown") at = Math.min(at + 1, hits.length - 1);
    else if (event.key === "ArrowUp") at = Math.max(at - 1, 0);
    else return;
    event.preventDefault();
    event.stopPropagation();
    mark();
  });

  show([{ panel: 0, copy: 0, shift: 0 }]);
  describeModel();
})();
