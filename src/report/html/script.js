for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    const patch = button.parentElement.querySelector("pre");
    try {
      await navigator.clipboard.writeText(patch.textContent);
    } catch {
      // A page from a file may not have the clipboard: the old way works on what is selected.
      const selection = getSelection();
      selection.selectAllChildren(patch);
      document.execCommand("copy");
      selection.removeAllRanges();
    }
    button.textContent = button.dataset.copied;
  });
}
