// Runs before the first paint: the theme that was chosen, and what to do with a page that was opened as a file.
try {
  const theme = localStorage.getItem('dynatwin-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Without storage the system's theme holds.
}
if (location.protocol === 'file:') {
  addEventListener('DOMContentLoaded', () => {
    document.querySelector('.loading').hidden = true;
    document.querySelector('.from-file').hidden = false;
  });
}
