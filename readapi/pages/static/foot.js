// Goes on playing while pages change: pages are fetched and shown in place, and the player moves to the foot.
// Until something is played, and without this script, links and forms load whole pages.
"use strict";

(() => {
  const PAGES = /^\/(?:$|search\/?$|(?:top|new|tags|liked|playlists|portal|settings|login|data|report)$|(?:tag|track|u|playlist|playlists|portal)\/)/;
  const ALONE = /^\/(?:login|settings)/; // their forms lead to other servers, or change who is signed in
  const MOST_UPCOMING = 100;
  const foot = document.getElementById("foot");
  if (!foot) return; // a page that is left by loading another
  const others = new BroadcastChannel("player");
  let current = null; // the player that was heard last
  let asking = null;
  let shown = location.pathname + location.search;

  document.addEventListener("heard", ({ detail: player }) => {
    if (current && current !== player) {
      current.audio.pause();
      if (foot.contains(current.box)) empty();
    }
    current = player;
    others.postMessage("heard");
    describe();
  });
  others.addEventListener("message", () => current?.audio.pause());

  // The lock screen's and the headset's keys, and the words at the foot.
  const describe = () => {
    const { title, artist, page, image } = current.about;
    const link = foot.querySelector(".about a");
    [link.textContent, link.href] = [title, page];
    foot.querySelector(".about .artist").textContent = artist;
    showQueue();
    if (!navigator.mediaSession) return;
    const artwork = image ? [{ src: image }] : [];
    navigator.mediaSession.metadata = new MediaMetadata({ title, artist, artwork });
    const { list } = current;
    const actions = {
      play: () => current.play(),
      pause: () => current.audio.pause(),
      seekto: ({ seekTime }) => current.seek(seekTime),
      seekbackward: () => current.seek(current.position - 10),
      seekforward: () => current.seek(current.position + 10),
      previoustrack: list ? () => list.step(-1) : null,
      nexttrack: list || current.upcoming.length ? () => (list ? list.step(1) : current.playUpcoming()) : null,
    };
    for (const [name, action] of Object.entries(actions)) navigator.mediaSession.setActionHandler(name, action);
  };

  // In one task with the page's change: a sound that is out of the document for longer stops.
  const keep = () => {
    if (foot.contains(current.box)) return;
    foot.querySelector("[data-place]").replaceChildren(current.box);
    foot.hidden = false;
    describe();
  };

  // The list, and after the track of it that is played those that were chosen to be next.
  const showQueue = () => {
    const { list, upcoming } = current;
    const rows = (list?.buttons ?? []).map((button, index) => {
      const isCurrent = index === list.index && !current.isAside;
      return queued(button.querySelector(".title").textContent, () => list.choose(index), isCurrent);
    });
    const next = upcoming.map((item) => queued(`Next: ${item.about.title}`, () => current.playUpcoming(item)));
    rows.splice(list ? list.index + 1 : 0, 0, ...next);
    const queue = foot.querySelector(".queue");
    const isFocused = queue.querySelector("ol").contains(document.activeElement);
    queue.hidden = rows.length < 2 && !next.length;
    queue.querySelector("ol").replaceChildren(...rows);
    if (isFocused) (queue.querySelector("[aria-current]") ?? queue.querySelector("summary")).focus();
  };

  const queued = (title, play, isCurrent = false) => {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title;
    if (isCurrent) button.setAttribute("aria-current", "true");
    button.addEventListener("click", play);
    item.append(button);
    return item;
  };

  // Beside every track that can be heard: play it after this one. With nothing playing it is played at once.
  const offerNext = (root) => {
    const list = root.querySelector("[data-list] [data-player]")?.player.list;
    list?.items.forEach((item, index) => {
      const title = item.querySelector(".title").textContent;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "open";
      button.textContent = "Next";
      button.setAttribute("aria-label", `Play ${title} next`);
      button.addEventListener("click", () => {
        if (!current) list.choose(index);
        else if (current.upcoming.length < MOST_UPCOMING) {
          const { source, seconds, play } = item.dataset;
          current.upcoming.push({ source, seconds: Number(seconds), play, about: list.aboutOf(index) });
          document.querySelector("[data-said]").textContent = `${title} plays next.`;
          describe();
        }
      });
      item.insertBefore(button, item.querySelector("a.open, noscript"));
    });
  };

  const empty = () => {
    foot.querySelector("[data-place]").replaceChildren();
    foot.hidden = true;
  };

  foot.querySelector("[data-close]").addEventListener("click", () => {
    current.audio.pause();
    current.upcoming.length = 0;
    current = null;
    empty();
  });

  const leads = (url) => current && url.origin === location.origin && PAGES.test(url.pathname);

  // `load`: how the browser does it alone, for pages that cannot be shown in place. `done`: what a form did, in words.
  const go = async (url, load, options = {}, isNew = true, done = "") => {
    const said = document.querySelector("[data-said]");
    said.textContent = "";
    asking?.abort();
    asking = new AbortController();
    const { signal } = asking;
    let answer, text;
    try {
      answer = await fetch(url, { ...options, headers: { Accept: "text/html" }, signal });
      text = await answer.text();
    } catch {
      if (!signal.aborted) load();
      return;
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    if (options.method && !answer.ok) return show(page); // why the form was refused
    if (!page.getElementById("foot")) return options.method ? location.assign(answer.url) : load();
    const reached = new URL(answer.url);
    const address = reached.pathname + reached.search;
    const isSame = address === shown;
    if (isNew && !isSame) {
      history.replaceState({ top: scrollY }, "");
      history.pushState({ top: 0 }, "", address + new URL(url).hash);
    }
    shown = address;
    const [canonical, reachedCanonical] = [document, page].map((one) => one.querySelector("link[rel=canonical]")?.href);
    const isStill = isSame || (canonical && canonical === reachedCanonical); // tracks have a short address too
    const focused = isStill && options.method ? document.activeElement?.id : "";
    await show(page, isStill ? scrollY : history.state?.top, focused);
    said.textContent = done;
  };

  // Styles and scripts that this page has not needed so far. Scripts begin with what is shown by then.
  const addStyles = (page) =>
    missing(page, "link[rel=stylesheet]", "href").map(
      (address) =>
        new Promise((resolve) => {
          const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: address });
          link.onload = link.onerror = resolve;
          document.head.append(link);
        }),
    );
  const addScripts = (page) => {
    for (const address of missing(page, "script[src]", "src")) {
      document.head.append(Object.assign(document.createElement("script"), { src: address, async: false }));
    }
  };
  const missing = (page, selector, attribute) => {
    const have = new Set([...document.querySelectorAll(selector)].map((one) => one.getAttribute(attribute)));
    return [...page.querySelectorAll(selector)].map((one) => one.getAttribute(attribute)).filter((one) => !have.has(one));
  };

  // `focused`: the id of what has the focus and keeps it, after a form that leads to the same page.
  const show = async (page, top = 0, focused = "") => {
    await Promise.all(addStyles(page));
    keep();
    document.title = page.title;
    for (const part of ["link[rel=canonical]", "header.site nav", "footer.site", "#main"]) {
      const [old, fresh] = [document.querySelector(part), page.querySelector(part)];
      if (old && fresh) old.replaceWith(fresh);
    }
    const main = document.getElementById("main");
    for (const unscripted of main.querySelectorAll("noscript")) unscripted.remove();
    document.querySelector("header.site [name=q]").value = page.querySelector("header.site [name=q]")?.value ?? "";
    main.dispatchEvent(new CustomEvent("shown", { bubbles: true }));
    addScripts(page);
    offerNext(main);
    const kept = focused && document.getElementById(focused);
    const begin = kept || main.querySelector(".note, h1");
    if (begin && !kept) begin.tabIndex = -1;
    begin?.focus({ preventScroll: true });
    const part = location.hash && document.getElementById(location.hash.slice(1));
    if (part) part.scrollIntoView();
    else scrollTo(0, top);
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    const isPlain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute("download")) return;
    const url = new URL(link.href);
    const isHere = url.hash && url.pathname + url.search === location.pathname + location.search;
    if (isHere || !leads(url) || url.pathname.endsWith(".csv")) return;
    event.preventDefault();
    go(url.href, () => location.assign(url));
  });

  document.addEventListener("submit", (event) => {
    const { target: form } = event;
    const url = new URL(form.action);
    const isPost = form.method === "post";
    if (event.defaultPrevented || !leads(url) || (isPost && ALONE.test(url.pathname))) return;
    event.preventDefault();
    const members = new FormData(form);
    const sent = form.enctype === "multipart/form-data" ? members : new URLSearchParams(members);
    if (isPost) go(url.href, () => form.submit(), { method: "POST", body: sent }, true, form.dataset.done);
    else {
      url.search = sent;
      go(url.href, () => form.submit());
    }
  });

  // Other scripts ask for a page here: `detail` is its address.
  document.addEventListener("go", (event) => {
    if (!leads(new URL(event.detail, location.href))) return;
    event.preventDefault();
    go(event.detail, () => location.assign(event.detail));
  });

  addEventListener("popstate", () => {
    if (location.pathname + location.search === shown) return; // another part of this page
    if (current) go(location.href, () => location.reload(), {}, false);
    else location.reload();
  });

  document.addEventListener("keydown", (event) => {
    const isBusy = event.target.closest("a, button, input, textarea, select, summary, audio");
    if (!current || isBusy || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.key === " ") {
      event.preventDefault();
      current.toggle();
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") current.seekByArrow(event);
  });

  offerNext(document);
})();
