// Puts the tracks of a playlist in order: by dragging, and in place by the buttons. Without this script the
// buttons load the page anew.
"use strict";

(() => {
  const titleOf = (item) => item.querySelector("bdi").textContent;

  // Moves a track to right before another one, or to the end, and shows the list as the page that is answered has it.
  const move = async (list, item, track, before, pressed) => {
    const body = new URLSearchParams({ track, before });
    let page;
    try {
      const answer = await fetch(list.dataset.order, { method: "POST", body, headers: { Accept: "text/html" } });
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch {
      location.reload();
      return;
    }
    const fresh = page.querySelector("[data-order]");
    if (!fresh) {
      location.reload(); // the playlist is gone, or nobody is signed in
      return;
    }
    list.replaceWith(fresh);
    listen(fresh);
    const items = [...fresh.children];
    const moved = items.find((one) => one.dataset.item === item.dataset.item);
    const refused = page.querySelector(".note.bad")?.textContent;
    const told = document.querySelector("[data-moved]");
    told.textContent = refused ?? (moved ? `${titleOf(moved)} is number ${items.indexOf(moved) + 1} of ${items.length}.` : "");
    if (pressed && moved) {
      const buttons = [...moved.querySelectorAll("[data-move] button")];
      (buttons.find((one) => one.textContent === pressed) ?? buttons[0])?.focus();
    }
  };

  // The track stays where it is until it is let go: a line shows its new place. Escape leaves everything as it is.
  const drag = (list, item, event) => {
    const others = [...list.children].filter((one) => one !== item);
    const stays = item.nextElementSibling;
    let next = stays;
    const look = ({ clientY }) => {
      next = others.find((one) => {
        const { top, height } = one.getBoundingClientRect();
        return clientY < top + height / 2;
      }) ?? null;
      for (const one of others) one.classList.toggle("place", one === next && next !== stays);
      list.classList.toggle("end", next === null && next !== stays);
    };
    const finish = (ended) => {
      if (ended.type === "keydown" && ended.key !== "Escape") return;
      document.removeEventListener("pointermove", look);
      for (const name of ENDS) document.removeEventListener(name, finish);
      for (const one of others) one.classList.remove("place");
      list.classList.remove("end");
      item.classList.remove("dragged");
      if (ended.type === "pointerup" && next !== stays) move(list, item, item.dataset.item, next?.dataset.item ?? "");
    };
    event.preventDefault();
    item.classList.add("dragged");
    document.addEventListener("pointermove", look);
    for (const name of ENDS) document.addEventListener(name, finish);
  };
  const ENDS = ["pointerup", "pointercancel", "keydown"];

  const listen = (list) => {
    for (const item of list.children) {
      const handle = document.createElement("span");
      handle.className = "handle";
      handle.title = "Drag to another place";
      handle.setAttribute("aria-hidden", "true"); // the buttons do the same
      handle.addEventListener("pointerdown", (event) => {
        if (event.isPrimary && event.button === 0) drag(list, item, event);
      });
      item.prepend(handle);
      for (const form of item.querySelectorAll("[data-move]")) {
        form.addEventListener("submit", (event) => {
          event.preventDefault();
          const { track, before } = form.elements;
          move(list, item, track.value, before.value, form.querySelector("button").textContent);
        });
      }
    }
  };

  const start = (root) => {
    for (const list of root.querySelectorAll("[data-order]")) if (list.children.length > 1) listen(list);
  };
  start(document);
  document.addEventListener("shown", (event) => start(event.target));
})();
