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
    document.querySelector("main").replaceWith(answered);
    for (const { id, files } of fields) {
      const field = document.getElementById(id);
      if (!field) continue;
      field.files = files;
      const lost = document.getElementById(`${id}-lost`);
      if (lost) lost.textContent = "";
    }
    answered.querySelector(".note")?.focus();
    listen();
    return true;
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
      if (request.status < 300 && moved) location.assign(request.responseURL);
      else if (!showRefusal(form, request.response)) fail();
    });
    request.send(new FormData(form));
    button.disabled = true;
    show(meter, null, "Sending the file.");
  };

  // A file that is too large is told as soon as it is chosen, and not sent.
  const limit = (field) => {
    const check = () => {
      const isTooLarge = field.files[0]?.size > Number(field.dataset.most);
      field.setCustomValidity(isTooLarge ? field.dataset.tooLarge : "");
    };
    field.addEventListener("change", () => {
      check();
      field.reportValidity();
    });
    field.addEventListener("invalid", () => field.closest("details")?.setAttribute("open", ""));
    check();
  };

  const listen = () => {
    for (const field of document.querySelectorAll("[data-most]")) limit(field);
    for (const form of document.querySelectorAll("form[data-uploads]")) {
      tellListeners(form);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        send(form, form.querySelector(".meter"));
      });
    }
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

  // What came of it is for the server to word: the page is fetched again, and the part that tells it put in.
  const showOutcome = async (box) => {
    const answer = await fetch(location.href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    box.querySelector("[data-outcome]").replaceWith(page.querySelector("[data-outcome]"));
    document.querySelector(".note")?.remove(); // what it told has come to its end
  };

  const followUpload = (box) => {
    const meter = box.querySelector(".meter");
    const source = new EventSource(box.dataset.upload);
    source.addEventListener("message", (event) => {
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
    for (;;) {
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
  listen();
  for (const box of document.querySelectorAll("[data-upload]")) followUpload(box);
  for (const box of document.querySelectorAll("[data-job]")) followJob(box);
})();
