// Keeps the volume, and where long recordings were left, in this browser. Without storage both last as long as the page.
"use strict";

(() => {
  const LONG_SECONDS = 600; // songs begin at their beginning
  const EDGE_SECONDS = 10; // so close to the beginning or the end nothing is worth keeping
  const EVERY_SECONDS = 5;
  const MOST_POSITIONS = 50;
  const resumed = new WeakMap(); // of each player: the track that was resumed, so that it is only once

  const read = (name, otherwise) => {
    try {
      return JSON.parse(localStorage.getItem(name)) ?? otherwise;
    } catch {
      return otherwise;
    }
  };
  const write = (name, value) => {
    try {
      localStorage.setItem(name, JSON.stringify(value));
    } catch {
      // The browser keeps nothing.
    }
  };

  const positions = () => {
    const kept = read("positions", []);
    return Array.isArray(kept) ? kept.filter((one) => Array.isArray(one) && Number.isFinite(one[1])) : [];
  };
  const trackOf = (player) => new URL(player.about.page, location.href).pathname;

  const save = (player) => {
    if (!(player.audio.duration >= LONG_SECONDS) || player.wanted !== null) return;
    const [track, position] = [trackOf(player), player.audio.currentTime];
    const others = positions().filter(([other]) => other !== track);
    const isAmid = position > EDGE_SECONDS && position < player.audio.duration - EDGE_SECONDS;
    write("positions", [...(isAmid ? [[track, Math.floor(position)]] : []), ...others].slice(0, MOST_POSITIONS));
  };

  const resume = (player) => {
    const track = trackOf(player);
    if (resumed.get(player) === track) return;
    resumed.set(player, track);
    const kept = positions().find(([other]) => other === track);
    if (kept && player.position === 0) player.seek(kept[1]);
  };

  let volume = Number(read("volume", 1));
  if (!(volume >= 0 && volume <= 1)) volume = 1;

  const addVolume = (player) => {
    const slider = document.createElement("input");
    Object.assign(slider, { type: "range", className: "volume", min: 0, max: 1, step: 0.05, value: volume });
    slider.setAttribute("aria-label", "Volume");
    slider.addEventListener("input", () => {
      volume = player.audio.volume = Number(slider.value);
      write("volume", volume);
    });
    player.box.querySelector(".controls").append(slider);
    applyVolume(player);
  };

  const applyVolume = (player) => {
    player.box.querySelector(".volume").value = player.audio.volume = volume;
  };

  const start = (root) => {
    for (const { player } of root.querySelectorAll("[data-player]")) {
      addVolume(player);
      let saved = 0;
      player.audio.addEventListener("timeupdate", () => {
        if (Math.abs(player.audio.currentTime - saved) < EVERY_SECONDS) return;
        saved = player.audio.currentTime;
        save(player);
      });
      for (const name of ["pause", "ended"]) player.audio.addEventListener(name, () => save(player));
      if (!player.list) resume(player);
    }
  };
  start(document);
  document.addEventListener("shown", (event) => start(event.target));
  document.addEventListener("heard", ({ detail: player }) => {
    applyVolume(player);
    resume(player);
  });
})();
