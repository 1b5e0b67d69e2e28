// Lets the page that holds the frame control the player by messages: docs/embedding.md.
"use strict";

(() => {
  const API = "fmsvc";
  const player = document.querySelector("[data-player]")?.player;
  if (window.parent === window) return;
  // To the parent alone. What is told is public, so it may be any site: a frame without an origin cannot ask whose.
  const tell = (type, told = {}) => window.parent.postMessage({ api: API, type, ...told }, "*");
  if (!player) {
    tell("ready", { playable: false });
    return;
  }

  const state = () => {
    const { title, artist } = player.about;
    return { title, artist, position: player.position, seconds: player.length };
  };
  const orders = {
    play: () => player.play(),
    pause: () => player.audio.pause(),
    seek: ({ position }) => {
      if (Number.isFinite(position) && position >= 0) player.seek(position);
    },
  };
  addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.api !== API || !Object.hasOwn(orders, data.type)) return;
    orders[data.type](data);
  });

  for (const type of ["play", "pause", "ended"]) player.audio.addEventListener(type, () => tell(type, state()));
  for (const name of ["timeupdate", "seeked"]) player.audio.addEventListener(name, () => tell("time", state()));
  tell("ready", { playable: true, ...state() });
})();
