// Draws the diagrams of a page in the colors of its theme. Without scripts their text is shown.
const isDark = /navy|coal|ayu/.test(document.documentElement.className);
mermaid.initialize({
  startOnLoad: false,
  securityLevel: "strict",
  theme: isDark ? "dark" : "default",
});
for (const code of document.querySelectorAll("code.language-mermaid")) {
  const diagram = document.createElement("div");
  diagram.className = "mermaid";
  diagram.textContent = code.textContent;
  code.parentElement.replaceWith(diagram);
}
mermaid.run();
