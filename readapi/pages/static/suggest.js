// Suggests names under the search fields while one types. Without this script the forms search all the same.
"use strict";

(() => {
  const PAUSE_MILLISECONDS = 100;
  const FEWEST_LETTERS = 2;

  // A combobox with a list: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/
  class Suggestions {
    constructor(form, number) {
      this.form = form;
      this.field = form.querySelector("[name=q]");
      this.list = document.createElement("ul");
      this.list.id = `suggestions-${number}`;
      this.list.className = "suggestions";
      this.list.setAttribute("role", "listbox");
      this.list.setAttribute("aria-label", "Suggestions");
      form.append(this.list);
      this.chosen = -1;
      this.close();
      for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", this.list.id]]) {
        this.field.setAttribute(name, value);
      }
      this.field.addEventListener("input", () => this.wait());
      this.field.addEventListener("keydown", (event) => this.press(event));
      this.field.addEventListener("blur", () => this.close());
      form.addEventListener("submit", () => this.close());
      // Before the field loses its focus, which closes the list.
      this.list.addEventListener("pointerdown", (event) => event.preventDefault());
      this.list.addEventListener("click", (event) => this.take(event.target.closest("[role=option]")));
    }

    get options() {
      return [...this.list.children];
    }

    wait() {
      clearTimeout(this.timer);
      this.asking?.abort();
      const text = this.field.value.trim();
      if (text.length < FEWEST_LETTERS) this.close();
      else this.timer = setTimeout(() => this.ask(text), PAUSE_MILLISECONDS);
    }

    async ask(text) {
      this.asking = new AbortController();
      const { signal } = this.asking;
      try {
        const answer = await fetch(`/search/suggest?q=${encodeURIComponent(text)}`, { signal });
        const { suggestions } = await answer.json();
        if (document.activeElement === this.field) this.show(suggestions ?? []);
      } catch {
        if (!signal.aborted) this.close();
      }
    }

    show(suggestions) {
      this.list.replaceChildren(...suggestions.map((one, index) => this.option(one, index)));
      this.choose(-1);
      this.list.hidden = !suggestions.length;
      this.field.setAttribute("aria-expanded", String(!this.list.hidden));
    }

    option({ name, by, type }, index) {
      const option = document.createElement("li");
      option.id = `${this.list.id}-${index}`;
      option.dataset.name = name;
      option.setAttribute("role", "option");
      const title = document.createElement("bdi");
      title.textContent = name;
      const about = document.createElement("span");
      about.className = "count";
      about.textContent = by ? `${type} by ${by}` : type;
      option.append(title, " ", about);
      return option;
    }

    close() {
      clearTimeout(this.timer);
      this.asking?.abort();
      this.list.hidden = true;
      this.field.setAttribute("aria-expanded", "false");
      this.choose(-1);
    }

    choose(index) {
      this.chosen = index;
      this.options.forEach((option, at) => option.setAttribute("aria-selected", String(at === index)));
      const chosen = this.options[index];
      if (chosen) this.field.setAttribute("aria-activedescendant", chosen.id);
      else this.field.removeAttribute("aria-activedescendant");
      chosen?.scrollIntoView({ block: "nearest" });
    }

    press(event) {
      const { length } = this.options;
      if (this.list.hidden || event.isComposing) return;
      const steps = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in steps) {
        event.preventDefault();
        // One place more than there are options: none of them is chosen there.
        this.choose(((this.chosen + 1 + steps[event.key] + length + 1) % (length + 1)) - 1);
      } else if (event.key === "Escape") {
        event.preventDefault();
        this.close();
      } else if (event.key === "Enter" && this.chosen >= 0) {
        event.preventDefault();
        this.take(this.options[this.chosen]);
      }
    }

    take(option) {
      if (!option) return;
      this.field.value = option.dataset.name.slice(0, this.field.maxLength);
      this.close();
      this.form.requestSubmit();
    }
  }

  let number = 0;
  const start = (root) => {
    for (const form of root.querySelectorAll("form.find[role=search]")) new Suggestions(form, (number += 1));
  };
  start(document);
  document.addEventListener("shown", (event) => start(event.target));
})();
