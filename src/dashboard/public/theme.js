// Sets the colours before anything is painted. A file of its own, because the page's policy allows no inline script.
// The names are those of preferences.ts.
try {
  const chosen = localStorage.getItem("millrace:theme");
  const isLight = chosen === "light" || (chosen === "system" && matchMedia("(prefers-color-scheme: light)").matches);
  document.documentElement.dataset.theme = isLight ? "light" : "dark";
} catch {
  document.documentElement.dataset.theme = "dark";
}
