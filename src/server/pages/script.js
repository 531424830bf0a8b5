// What the pages do beyond what they do without a script: nothing here is needed to read or to change anything.

// Keys: / searches, j and k walk the list.
const isTyping = (element) => element.matches("input, textarea, select, [contenteditable]");
const walk = (step) => {
  const titles = [...document.querySelectorAll(".list .title")];
  if (!titles.length) return;
  const now = titles.indexOf(document.activeElement);
  const next = now < 0 ? (step > 0 ? 0 : titles.length - 1) : Math.min(Math.max(now + step, 0), titles.length - 1);
  titles[next].focus();
  titles[next].scrollIntoView({ block: "nearest" });
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target.id === "q") return event.target.blur();
  if (isTyping(event.target)) return;
  if (event.key === "j" || event.key === "k") walk(event.key === "j" ? 1 : -1);
  if (event.key === "/") {
    const search = document.querySelector("#q");
    if (search) search.focus();
    else location.assign("/");
    event.preventDefault();
  }
});
document.addEventListener("focusin", () => {
  for (const row of document.querySelectorAll(".row.is-chosen")) row.classList.remove("is-chosen");
  document.activeElement?.closest?.(".list .row")?.classList.add("is-chosen");
});

// Search as you type: the same page, of which the list, the facets and what is wrong with the query are taken over.
const search = document.querySelector("#q");
if (search) {
  const PAUSE = 150;
  let timer, asked;
  const take = async () => {
    asked?.abort();
    asked = new AbortController();
    const address = new URL("/", location);
    if (search.value.trim()) address.searchParams.set("q", search.value);
    const order = new URL(location).searchParams.get("order");
    if (order) address.searchParams.set("order", order);
    try {
      const answer = await fetch(address, { signal: asked.signal, headers: { accept: "text/html" } });
      if (answer.status !== 200 && answer.status !== 400) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const id of ["results", "facets", "query-problem"]) {
        const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
        if (old && fresh) old.replaceWith(document.adoptNode(fresh));
      }
      search.toggleAttribute("aria-invalid", !!page.querySelector("#query-error"));
      if (search.hasAttribute("aria-invalid")) {
        search.setAttribute("aria-invalid", "true");
        search.setAttribute("aria-describedby", "query-error");
      } else search.removeAttribute("aria-describedby");
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") search.form.classList.add("is-alone");
    }
  };
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(take, PAUSE);
  });
}

// The week that is pointed at, in every chart of its sort at once.
for (const group of document.querySelectorAll(".trend, main")) {
  const charts = [...group.querySelectorAll(".chart")].filter((chart) => chart.closest(".trend, main") === group);
  for (const chart of charts) {
    const first = chart.querySelector(".hint")?.textContent;
    const show = (place) => {
      for (const each of charts) {
        const weeks = [...each.querySelectorAll(".week")];
        weeks.forEach((week, at) => week.classList.toggle("is-pointed", at === place));
        const hint = each.querySelector(".hint");
        const week = weeks[place];
        hint.dataset.first ??= hint.textContent;
        hint.textContent = week ? `${week.dataset.week}: ${week.dataset.count}` : hint.dataset.first;
      }
    };
    chart.addEventListener("pointerover", (event) => {
      const week = event.target.closest(".week");
      if (week) show([...chart.querySelectorAll(".week")].indexOf(week));
    });
    chart.querySelector("svg")?.addEventListener("pointerleave", () => show(-1));
  }
}

// Uploads: several files, dropped or chosen, sent as one stream that the server reads while it comes.
const form = document.querySelector("#upload");
if (form) {
  const drop = form.querySelector(".drop");
  const input = form.querySelector("#file");
  const text = form.querySelector("#text");
  const list = form.querySelector(".files");
  const progress = document.querySelector("#progress");
  const bar = progress.querySelector("progress");
  const words = progress.querySelector("#progress-words");
  const title = progress.querySelector("#progress-title");
  const csrf = form.querySelector("[name=csrf]").value;
  let files = [];
  input.multiple = true;
  const amount = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
    return `${(bytes / 1024 ** power).toFixed(power ? 2 : 0)} ${units[power]}`;
  };
  const choose = (chosen) => {
    files = [...chosen];
    list.hidden = !files.length;
    list.replaceChildren(...files.map((file) => {
      const item = document.createElement("li");
      item.textContent = `${file.name} · ${amount(file.size)}`;
      return item;
    }));
  };
  input.addEventListener("change", () => choose(input.files));
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("is-over"); });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("is-over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("is-over");
    choose(event.dataTransfer.files);
    if (files.length) form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const pasted = text.value ? [new File([text.value], "pasted.log")] : [];
    const all = [...files, ...pasted];
    if (!all.length) return input.focus();
    const total = all.reduce((sum, file) => sum + file.size, 0);
    const address = new URL("/upload/stream", location);
    address.searchParams.set("id", form.dataset.id);
    for (const file of all) address.searchParams.append("file", `${file.size}:${file.name}`);
    const { reading, concluding, failed, sent, read, shortages, noShortages } = progress.dataset;
    let known = { read: 0, shortages: 0 };
    let uploaded = 0;
    const show = () => {
      bar.value = total ? uploaded / total : 1;
      title.textContent = uploaded < total ? reading : concluding;
      const found = known.shortages ? `${known.shortages} ${shortages}` : noShortages;
      words.textContent = `${amount(uploaded)} / ${amount(total)} ${sent} · ${amount(known.read)} ${read} · ${found}`;
    };
    const request = new XMLHttpRequest();
    request.upload.addEventListener("progress", ({ loaded }) => { uploaded = loaded; show(); });
    const ask = setInterval(async () => {
      const answer = await fetch(`/upload/${encodeURIComponent(form.dataset.id)}/progress`).catch(() => null);
      if (answer?.ok) { known = await answer.json(); show(); }
    }, 400);
    const end = (problem) => {
      clearInterval(ask);
      if (!problem) return;
      title.textContent = failed;
      words.textContent = problem;
      form.hidden = false;
    };
    request.addEventListener("load", () => {
      if (request.status === 200) {
        end();
        return location.assign(JSON.parse(request.responseText).result);
      }
      let problem = `${request.status}`;
      try { problem = JSON.parse(request.responseText).detail ?? problem; } catch { /* A proxy's own page. */ }
      end(problem);
    });
    request.addEventListener("error", () => end(" "));
    request.addEventListener("abort", () => { end(); progress.hidden = true; form.hidden = false; });
    progress.querySelector("#stop").onclick = () => request.abort();
    request.open("POST", address);
    request.setRequestHeader("x-csrf-token", csrf);
    request.setRequestHeader("content-type", "application/octet-stream");
    form.hidden = true;
    progress.hidden = false;
    show();
    request.send(new Blob(all));
  });
}
