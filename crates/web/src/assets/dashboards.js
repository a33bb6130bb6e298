// A chart's preview follows its form; without this, the button does it.
for (const form of document.querySelectorAll("form[data-preview]")) {
  const preview = form.querySelector("button[data-show]");
  form.addEventListener("change", (event) => {
    if (event.target.matches("select, input[name=q], input[name=rows], input[name=bins]")) {
      form.requestSubmit(preview);
    }
  });
}
