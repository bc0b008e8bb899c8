// Steps through the counterexamples of a page. What it shows stands in the page's JSON; without this
// script the pictures are complete and the text is all there.
"use strict";

const root = document.documentElement;
const scenes = JSON.parse(document.getElementById("scenes").textContent);
const sections = [...document.querySelectorAll(".missing-edge")];
let current = 0;

root.classList.add("js");
scenes.forEach((scene, index) => {
  scene.at = scene.steps.length - 1;
  scene.needs = ancestors(scene);
  const section = sections[index];
  const act = (name, what) => section.querySelector(`[data-do="${name}"]`).addEventListener("click", what);
  act("first", () => go(0));
  act("back", () => go(scene.at - 1));
  act("forward", () => go(scene.at + 1));
  act("last", () => go(scene.steps.length - 1));
  act("marks", () => go(marked(scene)));
  section.querySelector('[data-do="orders"]').addEventListener("change", (event) => orders(event.target.checked));
  section.querySelector('[data-do="slide"]').addEventListener("input", (event) => go(Number(event.target.value)));
});
document.querySelectorAll("[data-show]").forEach((link) => link.addEventListener("click", (event) => {
  event.preventDefault();
  show(Number(link.dataset.show));
}));
document.addEventListener("keydown", pressed);
window.addEventListener("hashchange", fromAddress);
fromAddress();

/** For each event, every event that must have happened before it. */
function ancestors(scene) {
  const found = {};
  const last = {};
  scene.steps.forEach((step) => {
    if (!step.event) return;
    const mine = new Set();
    const before = scene.orders.filter(([, to]) => to === step.event).map(([from]) => from);
    if (last[step.lane]) before.push(last[step.lane]);
    before.forEach((event) => { mine.add(event); found[event].forEach((one) => mine.add(one)); });
    found[step.event] = mine;
    last[step.lane] = step.event;
  });
  return found;
}

/** The step after which both marked accesses have happened; the last one where none are marked. */
function marked(scene) {
  return scene.missing ? Math.max(...scene.missing) : scene.steps.length - 1;
}

function go(step) {
  const scene = scenes[current];
  scene.at = Math.min(Math.max(step, 0), scene.steps.length - 1);
  draw();
  const box = sections[current].querySelector(".event.now");
  if (box) box.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function show(index) {
  current = Math.min(Math.max(index, 0), scenes.length - 1);
  draw();
}

function orders(on) {
  sections.forEach((section) => {
    section.classList.toggle("orders", on);
    section.querySelector('[data-do="orders"]').checked = on;
  });
}

function pressed(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || !scenes.length) return;
  const scene = scenes[current];
  const slider = event.target.type === "range";
  const does = {
    ArrowRight: () => go(scene.at + 1), ArrowDown: () => go(scene.at + 1), j: () => go(scene.at + 1),
    ArrowLeft: () => go(scene.at - 1), ArrowUp: () => go(scene.at - 1), k: () => go(scene.at - 1),
    Home: () => go(0), End: () => go(scene.steps.length - 1), m: () => go(marked(scene)),
    h: () => orders(!sections[current].classList.contains("orders")),
    n: () => show(current + 1), p: () => show(current - 1),
  }[event.key];
  if (!does || (slider && /^(Arrow|Home|End)/.test(event.key))) return;
  event.preventDefault();
  does();
}

/** `#2.7` is the second missing edge after seven events. */
function fromAddress() {
  const said = /^#(\d+)(?:\.(\d+))?$/.exec(location.hash);
  if (said && scenes[said[1] - 1]) {
    current = said[1] - 1;
    if (said[2] !== undefined) return go(Number(said[2]));
  }
  if (scenes.length) draw();
}

function draw() {
  const scene = scenes[current];
  const section = sections[current];
  const step = scene.steps[scene.at];
  sections.forEach((one, index) => one.classList.toggle("shown", index === current));
  const needed = scene.needs[step.event] || new Set();
  section.querySelectorAll(".event").forEach((box) => {
    const number = Number(box.dataset.event);
    box.classList.toggle("future", number > scene.at);
    box.classList.toggle("now", number === step.event);
    box.classList.toggle("needed", needed.has(number));
  });
  section.querySelectorAll(".before").forEach((line) => {
    const to = Number(line.dataset.to);
    line.classList.toggle("needed", needed.has(Number(line.dataset.from)) && (needed.has(to) || to === step.event));
  });
  section.querySelectorAll(".missing").forEach((line) => line.classList.toggle("future", scene.at < marked(scene)));
  section.querySelector('[data-do="slide"]').value = scene.at;
  section.querySelector("output").textContent = `${scene.at} of ${scene.steps.length - 1}`;
  section.querySelector(".here").textContent = step.said;
  section.querySelectorAll(".memory tbody tr").forEach((row, index) => {
    const [now, before] = [step.memory[index], scene.at ? scene.steps[scene.at - 1].memory[index] : step.memory[index]];
    row.children[1].textContent = now;
    row.classList.toggle("changed", now !== before);
    row.classList.toggle("wrong", step.wrong.includes(index));
  });
  history.replaceState(null, "", `#${current + 1}.${scene.at}`);
}
