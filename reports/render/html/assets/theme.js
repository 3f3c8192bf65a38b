// Light or dark mode: the system setting until the reader chooses.
document.documentElement.classList.add('live');
document.querySelectorAll('.unscripted').forEach((element) => element.remove());
(() => {
  const root = document.documentElement;
  const choices = ['auto', 'light', 'dark'];
  const button = document.getElementById('theme');
  const show = (choice) => {
    if (choice === 'auto') delete root.dataset.theme;
    else root.dataset.theme = choice;
    button.textContent = 'Theme: ' + choice;
  };
  let chosen = 0;
  button.hidden = false;
  button.addEventListener('click', () => {
    chosen = (chosen + 1) % choices.length;
    show(choices[chosen]);
  });
  show(choices[chosen]);
})();
