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
