// Shows how far uploads and changes have come. Without this script forms are sent all the same, and pages
// tell how far it is when they are loaded.
"use strict";

(() => {
  const DEVELOPER = "/settings#developer";
  const LOST = "The connection was lost; nothing was uploaded. Try again.";
  const UNKNOWN = "How far it is cannot be told just now. Load this page again.";
  const POLL_SECONDS = 1;

  const show = (meter, percent, words) => {
    const bar = meter.querySelector("progress");
    const told = meter.querySelector("[role=status]");
    meter.hidden = false;
    if (percent === null) bar.removeAttribute("value");
    else bar.value = percent;
    // A screen reader reads what changes, and every percent would be too much.
    if (words && told.textContent !== words) told.textContent = words;
  };

  // The answer of a form that was refused is this page again, with what was wrong. The chosen files stay.
  const showRefusal = (form, page) => {
    const answered = page?.querySelector("main");
    if (!answered) return false;
    const fields = form.querySelectorAll("[type=file]");
    document.title = page.title;
    for (const player of document.querySelectorAll("main [data-player]")) player.player?.audio.pause();
    document.querySelector("main").replaceWith(answered);
    for (const { id, files } of fields) {
      const field = document.getElementById(id);
      if (!field) continue;
      field.files = files;
      const lost = document.getElementById(`${id}-lost`);
      if (lost) lost.textContent = "";
    }
    answered.querySelector(".note")?.focus();
    answered.dispatchEvent(new CustomEvent("shown", { bubbles: true }));
    return true;
  };

  // In place while something is played, else by loading the page.
  const go = (address) => {
    if (document.dispatchEvent(new CustomEvent("go", { detail: address, cancelable: true }))) location.assign(address);
  };

  const send = (form, meter) => {
    const button = form.querySelector("[type=submit]");
    const request = new XMLHttpRequest();
    const fail = () => {
      button.disabled = false;
      show(meter, 0, LOST);
    };
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "text/html");
    request.responseType = "document";
    request.upload.addEventListener("progress", (event) => {
      const percent = event.lengthComputable ? (100 * event.loaded) / event.total : null;
      show(meter, percent, percent === 100 ? "Sent. The server takes a look at it." : "Sending the file.");
    });
    request.addEventListener("error", fail);
    request.addEventListener("abort", fail);
    request.addEventListener("load", () => {
      const moved = request.responseURL !== form.action;
      if (request.status < 300 && moved) go(request.responseURL);
      else if (!showRefusal(form, request.response)) fail();
    });
    request.send(new FormData(form));
    button.disabled = true;
    show(meter, null, "Sending the file.");
  };

  // A file that is too large is told as soon as it is chosen, and not sent.
  const limit = (field) => {
    const check = () => {
      const isTooLarge = [...field.files].some((file) => file.size > Number(field.dataset.most));
      field.setCustomValidity(isTooLarge ? field.dataset.tooLarge : "");
    };
    field.addEventListener("change", () => {
      check();
      field.reportValidity();
    });
    field.addEventListener("invalid", () => field.closest("details")?.setAttribute("open", ""));
    check();
  };

  const listen = (root) => {
    for (const field of root.querySelectorAll("[data-most]")) limit(field);
    for (const place of root.querySelectorAll("[data-preview]")) preview(place);
    for (const form of root.querySelectorAll("form[data-uploads]")) {
      tellListeners(form);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        send(form, form.querySelector(".meter"));
      });
    }
    for (const form of root.querySelectorAll("form[data-several]")) {
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        sendSeveral(form);
      });
    }
  };

  // Shows the picture that was chosen before it is sent.
  const preview = (place) => {
    const field = document.getElementById(place.dataset.preview);
    field.addEventListener("change", () => {
      place.querySelector("img")?.remove();
      const [file] = field.files;
      if (!file) return;
      const image = document.createElement("img");
      image.alt = "";
      image.src = URL.createObjectURL(file);
      for (const name of ["load", "error"]) image.addEventListener(name, () => URL.revokeObjectURL(image.src));
      image.addEventListener("error", () => image.remove());
      place.append(image);
    });
  };

  // The button says who will hear the track: by its own template, else by its album's or the Portal template.
  const tellListeners = (form) => {
    const button = form.querySelector("[data-heard]");
    if (!button) return;
    const words = button.textContent;
    const tell = () => {
      const own = form.querySelector("[name=listening]:checked")?.dataset.short;
      const album = form.querySelector("[name=album_id]").selectedOptions[0]?.dataset.short;
      const heard = own || album || button.dataset.heard;
      button.textContent = `${words}: ${heard[0].toLowerCase()}${heard.slice(1)}`;
    };
    form.addEventListener("change", tell);
    tell();
  };

  // Each file by a request of its own, one after the other, which keeps their order; each row tells how far
  // its file is. A file that is refused stops no other.
  const sendSeveral = async (form) => {
    const [field, button] = [form.querySelector("[type=file]"), form.querySelector("[type=submit]")];
    const members = new FormData(form);
    members.delete(field.name);
    button.disabled = true;
    let followed = Promise.resolve();
    for (const [file, row] of addRows(form, [...field.files])) {
      const upload = await sendOne(form.action, members, field.name, file, row);
      if (upload) followed = followed.then(() => new Promise((resolve) => follow(row, upload, resolve)));
    }
    form.reset();
    button.disabled = false;
    await followed;
    showTracks();
  };

  const addRows = (form, files) => {
    const list = form.querySelector("[data-sent]");
    list.hidden = false;
    return files.map((file) => {
      const row = document.createElement("li");
      const [name, meter, bar, told] = ["bdi", "div", "progress", "p"].map((tag) => document.createElement(tag));
      name.textContent = file.name;
      meter.className = "meter";
      bar.max = 100;
      bar.setAttribute("aria-label", file.name);
      told.setAttribute("role", "status");
      meter.append(bar, told);
      row.append(name, meter);
      list.append(row);
      show(meter, 0, "Waits.");
      return [file, row];
    });
  };

  // The upload's id; null when the file was refused, and why is in its row. A server that is asked too often
  // says when it may be asked again.
  const sendOne = async (address, members, name, file, row) => {
    const meter = row.querySelector(".meter");
    for (;;) {
      const request = await sendFile(address, members, name, file, meter);
      const id = /\/portal\/uploads\/([^/?]+)/.exec(request.responseURL)?.[1];
      if (request.status < 300 && id) return id;
      const seconds = Number(request.getResponseHeader("Retry-After"));
      if (request.status !== 429 || !seconds) {
        refuse(row, told(request));
        return null;
      }
      show(meter, null, "Waits until more files may be sent.");
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  };

  const sendFile = (address, members, name, file, meter) =>
    new Promise((resolve) => {
      const [request, form] = [new XMLHttpRequest(), new FormData()];
      for (const [member, value] of members) form.append(member, value);
      form.append(name, file);
      request.open("POST", address);
      request.setRequestHeader("Accept", "application/json, text/html;q=0.1");
      request.upload.addEventListener("progress", (event) => {
        show(meter, event.lengthComputable ? (100 * event.loaded) / event.total : null, "Sending the file.");
      });
      request.addEventListener("loadend", () => resolve(request));
      request.send(form);
    });

  const told = (request) => {
    try {
      return JSON.parse(request.responseText).message ?? LOST;
    } catch {
      return LOST;
    }
  };

  const refuse = (row, words) => {
    const error = document.createElement("p");
    error.className = "error";
    error.setAttribute("role", "alert");
    error.textContent = words;
    row.querySelector(".meter").replaceWith(error);
  };

  const follow = (row, id, end) => {
    const meter = row.querySelector(".meter");
    const source = new EventSource(`/tracks/uploads/${id}/progress`);
    const stop = () => {
      source.close();
      end();
    };
    source.addEventListener("message", (event) => {
      const upload = JSON.parse(event.data);
      if (upload.status === "failed") refuse(row, upload.message);
      else show(meter, upload.progress_pct, upload.message);
      if (upload.status === "completed" || upload.status === "failed") stop();
    });
    source.addEventListener("error", () => source.readyState === EventSource.CLOSED && stop());
  };

  // The album's tracks as the server shows them by now.
  const showTracks = async () => {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const [old, fresh] = [document, page].map((one) => one.querySelector("[aria-labelledby=tracks]"));
    if (old && fresh) old.replaceWith(fresh);
  };

  // What came of it is for the server to word: the page is fetched again, and the part that tells it put in.
  const showOutcome = async (box) => {
    if (!box.isConnected) return; // another page is shown by now
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    box.querySelector("[data-outcome]").replaceWith(page.querySelector("[data-outcome]"));
    document.querySelector(".note")?.remove(); // what it told has come to its end
  };

  const followUpload = (box) => {
    const meter = box.querySelector(".meter");
    const source = new EventSource(box.dataset.upload);
    source.addEventListener("message", (event) => {
      if (!box.isConnected) source.close(); // another page is shown by now
      const upload = JSON.parse(event.data);
      show(meter, upload.progress_pct, upload.message);
      if (upload.status !== "completed" && upload.status !== "failed") return;
      source.close();
      showOutcome(box);
    });
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) show(meter, null, UNKNOWN);
    });
  };

  const followJob = async (box) => {
    const meter = box.querySelector(".meter");
    while (box.isConnected) {
      const answer = await fetch(box.dataset.job).catch(() => null);
      if (answer?.ok) {
        const job = await answer.json();
        const failed = job.failed_track_ids.length;
        const done = job.updated_track_ids.length + failed;
        const all = job.selected_track_ids.length;
        show(meter, all ? (100 * done) / all : 100, `${done} of ${all} tracks${failed ? `, ${failed} failed` : ""}`);
        if (job.completed_at) return showOutcome(box);
      } else if (answer?.status === 401 || answer?.status === 404) return show(meter, null, UNKNOWN);
      const seconds = Number(answer?.headers.get("Retry-After")) || POLL_SECONDS;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  };

  // Addresses of the developer page that are older than the settings lead here.
  const lead = () => {
    if (location.hash === "#developer") location.replace(DEVELOPER);
  };

  addEventListener("hashchange", lead);
  lead();
  const start = (root) => {
    listen(root);
    for (const box of root.querySelectorAll("[data-upload]")) followUpload(box);
    for (const box of root.querySelectorAll("[data-job]")) followJob(box);
  };
  start(document);
  document.addEventListener("shown", (event) => start(event.target));
})();
