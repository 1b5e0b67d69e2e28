// Turns native audio into a small player. Without this script the page keeps the browser's own controls.
"use strict";

(() => {
  const ARROW_SECONDS = 5;
  const RESTART_SECONDS = 3;
  const LONGEST_UNTIL_PLAYED_SECONDS = 30;
  const isFramed = document.documentElement.classList.contains("embed");
  const UNREACHABLE = "The recording could not be loaded from the artist’s server.";

  const clock = (seconds) => {
    const whole = Math.max(0, Math.floor(seconds));
    const two = (number) => String(number).padStart(2, "0");
    const hours = Math.floor(whole / 3600);
    const minutes = Math.floor(whole / 60) % 60;
    return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
  };

  const upcoming = []; // tracks to play before a list goes on, whichever player comes to it; foot.js adds them

  class Player {
    constructor(box) {
      this.box = box;
      box.player = this;
      this.list = null;
      this.upcoming = upcoming;
      this.isAside = false; // the track that is loaded is one of those, and none of the list
      this.about = { title: "", artist: "", page: "", image: null }; // of the track that is loaded
      this.audio = box.querySelector("audio");
      this.toggleButton = box.querySelector(".toggle");
      this.seekBar = box.querySelector(".seek");
      this.now = box.querySelector(".now");
      this.whole = box.querySelector(".whole");
      this.trouble = box.querySelector(".trouble");
      this.stated = Number(this.whole.dataset.seconds);
      this.wanted = null; // a position chosen before it could be reached
      this.fetching = null;
      this.heardBefore = 0; // of this track, in seconds, from a source that another one took the place of
      this.playAddress = box.dataset.play; // where the play is to be told; not any more once it was
      this.listen();
      this.audio.controls = false;
      box.querySelector(".controls").hidden = false;
      this.showTime();
      if (Number(box.dataset.start)) this.seek(Number(box.dataset.start));
    }

    listen() {
      const { audio } = this;
      this.toggleButton.addEventListener("click", () => this.toggle());
      this.seekBar.addEventListener("input", () => this.seek(Number(this.seekBar.value)));
      this.seekBar.addEventListener("keydown", (event) => this.seekByArrow(event));
      for (const name of ["play", "playing", "pause", "ended", "waiting"]) {
        audio.addEventListener(name, () => this.showState(name));
      }
      for (const name of ["timeupdate", "durationchange", "seeked", "emptied"]) {
        audio.addEventListener(name, () => this.showTime());
      }
      for (const name of ["timeupdate", "pause", "ended"]) audio.addEventListener(name, () => this.tellPlay());
      audio.addEventListener("play", () => document.dispatchEvent(new CustomEvent("heard", { detail: this })));
      audio.addEventListener("loadedmetadata", () => this.seekAsWanted());
      audio.addEventListener("error", () => this.fail());
      audio.addEventListener("ended", () => (this.list ? this.list.step(1) : this.playUpcoming()));
    }

    get length() {
      return Number.isFinite(this.audio.duration) ? this.audio.duration : this.stated;
    }

    get position() {
      return this.wanted ?? this.audio.currentTime;
    }

    toggle() {
      if (this.audio.paused) this.play();
      else this.audio.pause();
    }

    play() {
      this.trouble.textContent = "";
      if (this.audio.error) this.audio.load();
      this.audio.play().catch((refusal) => {
        if (refusal.name === "NotAllowedError") this.showState("pause");
      });
    }

    // Whether there was one.
    playUpcoming(item = upcoming[0]) {
      if (!item) return false;
      upcoming.splice(upcoming.indexOf(item), 1);
      this.load(item.source, item.seconds, item.play);
      this.isAside = true;
      this.about = item.about;
      this.play();
      return true;
    }

    load(source, seconds, playAddress) {
      this.isAside = false;
      this.trouble.textContent = "";
      this.fetching?.abort();
      this.fetching = null;
      if (this.audio.src.startsWith("blob:")) URL.revokeObjectURL(this.audio.src);
      this.wanted = null;
      this.stated = seconds;
      this.heardBefore = 0;
      this.playAddress = playAddress;
      this.audio.src = source;
      this.showTime();
    }

    // Each second of the track once, however often it was played.
    get heard() {
      const { played } = this.audio;
      let seconds = this.heardBefore;
      for (let index = 0; index < played.length; index += 1) seconds += played.end(index) - played.start(index);
      return seconds;
    }

    // Once for each load of a track, after half of it or 30 seconds were heard. A lost one is not told again.
    tellPlay() {
      const half = this.length ? this.length / 2 : Infinity;
      if (!this.playAddress || this.heard < Math.min(half, LONGEST_UNTIL_PLAYED_SECONDS)) return;
      const credentials = isFramed ? "omit" : "same-origin";
      fetch(this.playAddress, { method: "POST", credentials, keepalive: true }).catch(() => {});
      this.playAddress = undefined;
    }

    seek(seconds) {
      const target = Math.min(Math.max(0, seconds), this.length || seconds);
      if (this.audio.readyState === HTMLMediaElement.HAVE_NOTHING) this.wanted = target;
      else if (this.canReach(target)) this.audio.currentTime = target;
      else this.fetchWhole(target);
      this.showTime();
    }

    canReach(seconds) {
      const { seekable, src } = this.audio;
      for (let index = 0; index < seekable.length; index += 1) {
        if (seekable.start(index) <= seconds && seconds <= seekable.end(index)) return true;
      }
      return src.startsWith("blob:");
    }

    // Some servers cannot send a part of a file: moving about in it then takes the whole of it.
    async fetchWhole(target) {
      this.wanted = target;
      if (this.fetching) return;
      const fetching = new AbortController();
      this.fetching = fetching;
      try {
        const answer = await fetch(this.audio.src, { signal: fetching.signal });
        if (!answer.ok) throw new Error(answer.statusText);
        const whole = URL.createObjectURL(await answer.blob());
        const { paused } = this.audio;
        this.heardBefore = this.heard;
        this.audio.src = whole;
        if (!paused) this.play();
      } catch {
        if (this.fetching === fetching) this.wanted = null;
      } finally {
        if (this.fetching === fetching) this.fetching = null;
        this.showTime();
      }
    }

    seekAsWanted() {
      const target = this.wanted;
      this.wanted = null;
      if (target !== null) this.seek(target);
    }

    seekByArrow(event) {
      const direction = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (!direction || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.seek(this.position + direction * ARROW_SECONDS);
    }

    async fail() {
      this.showState("pause");
      const { src } = this.audio;
      const reason = await this.refusal(src);
      if (this.audio.src === src) this.trouble.textContent = reason;
    }

    // What our own server says of it, which a media element keeps to itself. Others’ words are not shown.
    async refusal(source) {
      try {
        const answer = await fetch(source, { headers: { Range: "bytes=0-0" } });
        if (answer.ok || answer.redirected) return UNREACHABLE;
        return (await answer.json()).message ?? UNREACHABLE;
      } catch {
        return UNREACHABLE;
      }
    }

    showState(name) {
      const playing = !this.audio.paused && !this.audio.ended && !this.audio.error;
      this.box.dataset.state = playing ? (name === "waiting" || name === "play" ? "waiting" : "playing") : "still";
      this.toggleButton.setAttribute("aria-label", playing ? "Pause" : "Play");
    }

    showTime() {
      const { length, position } = this;
      this.seekBar.max = String(length || 0);
      this.seekBar.value = String(position);
      this.seekBar.disabled = !length;
      this.seekBar.style.setProperty("--played", length ? `${(100 * position) / length}%` : "0%");
      this.seekBar.setAttribute("aria-valuetext", length ? `${clock(position)} of ${clock(length)}` : clock(position));
      this.now.textContent = clock(position);
      this.whole.textContent = length ? ` / ${clock(length)}` : "";
    }
  }

  const pictureOf = (root) => root.querySelector(".head .cover img, .heard .cover img")?.src ?? null;

  class List {
    constructor(root, player) {
      this.player = player;
      player.list = this;
      this.owner = (root.querySelector(".by bdi") ?? root.closest("main")?.querySelector("h1"))?.textContent ?? "";
      this.current = root.querySelector("[data-current]");
      this.image = pictureOf(root);
      this.items = [...root.querySelectorAll("li[data-source]")];
      this.buttons = this.items.map((item, index) => this.makeButton(item, index));
      this.steps = [...player.box.querySelectorAll("[data-step]")];
      for (const step of this.steps) step.addEventListener("click", () => this.step(Number(step.dataset.step)));
      root.querySelector(".scroll")?.removeAttribute("tabindex");
      this.select(0);
    }

    makeButton(item, index) {
      const row = item.querySelector(".row");
      const button = document.createElement("button");
      button.type = "button";
      button.className = "row";
      button.append(...row.childNodes);
      button.addEventListener("click", () => this.choose(index));
      row.replaceWith(button);
      return button;
    }

    choose(index) {
      if (index === this.index && !this.player.isAside) {
        this.player.toggle();
        return;
      }
      this.select(index);
      const { source, seconds, play } = this.items[index].dataset;
      this.player.load(source, Number(seconds), play);
      this.player.play();
    }

    step(by) {
      const { audio } = this.player;
      if (by > 0 && this.player.playUpcoming()) return;
      if (by < 0 && this.player.isAside) this.choose(this.index);
      else if (by < 0 && (audio.currentTime > RESTART_SECONDS || this.index === 0)) this.player.seek(0);
      else if (this.index + by < this.items.length) this.choose(this.index + by);
    }

    aboutOf(index) {
      const button = this.buttons[index];
      return {
        title: button.querySelector(".title").textContent,
        artist: button.querySelector(".artist")?.textContent ?? this.owner,
        page: this.items[index].querySelector("a.open")?.href ?? location.href,
        image: this.image,
      };
    }

    select(index) {
      this.buttons[this.index]?.removeAttribute("aria-current");
      this.index = index;
      const button = this.buttons[index];
      button.setAttribute("aria-current", "true");
      this.player.about = this.aboutOf(index);
      if (isFramed) button.scrollIntoView({ block: "nearest" });
      const atEnd = String(index === this.items.length - 1);
      for (const step of this.steps) if (step.dataset.step === "1") step.setAttribute("aria-disabled", atEnd);
      if (this.current) {
        this.current.hidden = false;
        this.current.textContent = button.querySelector(".title").textContent;
      }
    }
  }

  // The moments of a track's comments: links that move the player, and marks under its bar.
  const showMoments = (root, player) => {
    const marks = document.createElement("span");
    marks.className = "marks";
    marks.setAttribute("aria-hidden", "true"); // the same as the links, for pointers
    const go = (second) => {
      player.seek(second);
      player.play();
    };
    for (const link of root.querySelectorAll("a[data-moment]")) {
      const second = Number(link.dataset.moment);
      link.addEventListener("click", (event) => {
        event.preventDefault();
        go(second);
      });
      if (!player.length || second > player.length) continue;
      const mark = document.createElement("span");
      mark.className = "mark";
      mark.title = link.parentElement.querySelector(".said").textContent;
      mark.style.left = `${(100 * second) / player.length}%`;
      mark.addEventListener("click", () => go(second));
      marks.append(mark);
    }
    player.seekBar.parentElement.querySelector(".marks")?.remove();
    if (marks.children.length) {
      const bar = player.seekBar.closest(".bar") ?? document.createElement("span");
      bar.className = "bar";
      if (!bar.parentElement) player.seekBar.replaceWith(bar);
      bar.append(player.seekBar, marks);
    }
    const field = root.querySelector("[data-now]");
    let isTyped = false;
    field?.addEventListener("input", () => (isTyped = true));
    player.audio.addEventListener("timeupdate", () => {
      if (field && !isTyped) field.value = clock(player.position);
    });
  };

  const shortcuts = (player) => (event) => {
    const busy = event.target.closest("a, button, input, textarea, summary, audio");
    if (busy || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " " || event.key === "k") {
      event.preventDefault();
      player.toggle();
    } else player.seekByArrow(event);
  };

  const startAlone = (box, player) => {
    const main = box.closest("main");
    player.about = {
      title: main.querySelector("h1").textContent,
      artist: main.querySelector(".by bdi")?.textContent ?? "",
      page: location.href,
      image: pictureOf(main),
    };
    // A track that is played at the foot of the page already needs no second player.
    const atFoot = document.querySelector("#foot [data-player]")?.player;
    const isSame = atFoot && new URL(atFoot.about.page).pathname === location.pathname;
    if (isSame) box.hidden = true;
    showMoments(main, isSame ? atFoot : player);
  };

  const start = (root) => {
    // Under every picture lies the drawing for records that have none.
    for (const image of root.querySelectorAll(".cover img")) {
      const remove = () => image.remove();
      if (image.complete && !image.naturalWidth) remove();
      else image.addEventListener("error", remove);
    }
    for (const box of root.querySelectorAll("[data-player]")) {
      const player = new Player(box);
      const list = box.closest("[data-list]");
      if (list) new List(list, player);
      else startAlone(box, player);
      // On a page of its own the space bar scrolls; in a frame there is nothing else for it to do.
      if (isFramed) document.addEventListener("keydown", shortcuts(player));
    }
  };
  start(document);
  document.addEventListener("shown", (event) => start(event.target));
})();
