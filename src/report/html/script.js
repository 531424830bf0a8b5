// A page from a file may not have the clipboard: the old way copies what is selected in a field. Words of the page that are
// selected would lose their last line's end, without which `git apply` refuses a patch.
const copySelected = (text) => {
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.style.position = "fixed";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
};
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const { textContent } = button.parentElement.querySelector("pre");
    const isCopied = await navigator.clipboard?.writeText(textContent).then(() => true, () => false);
    if (isCopied || copySelected(textContent)) button.textContent = button.dataset.copied;
  });
}
// One plot of many ranks at a time.
for (const select of document.querySelectorAll(".plots > select")) {
  const figures = [...select.parentElement.querySelectorAll("figure")];
  const show = () => figures.forEach((figure, place) => { figure.hidden = place !== Number(select.value); });
  select.hidden = false;
  select.addEventListener("change", show);
  show();
}
// What stands at the moment that is pointed at.
for (const svg of document.querySelectorAll("svg[data-points]")) {
  const points = JSON.parse(svg.dataset.points);
  const pointer = svg.querySelector(".pointer");
  const output = svg.parentElement.querySelector("output");
  const move = (event) => {
    const x = (event.offsetX / svg.clientWidth) * svg.viewBox.baseVal.width;
    const nearest = points.reduce((best, point) => (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best), points[0]);
    if (!nearest) return;
    pointer.setAttribute("x1", nearest[0]);
    pointer.setAttribute("x2", nearest[0]);
    pointer.classList.add("on");
    output.textContent = points.filter((point) => point[0] === nearest[0]).map((point) => point[1]).join(" · ");
  };
  svg.addEventListener("pointermove", move);
  svg.addEventListener("pointerdown", move);
  svg.addEventListener("pointerleave", () => pointer.classList.remove("on"));
}
// The ranks by what they held instead of how they ended.
for (const label of document.querySelectorAll(".ranks > .by-memory")) {
  const box = label.querySelector("input");
  label.hidden = false;
  box.addEventListener("change", () => label.parentElement.classList.toggle("held", box.checked));
}
