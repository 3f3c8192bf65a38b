// The trade-off between cost and disruption: one drawing per measure of disruption.
document.querySelectorAll('.trade-off:has(select)').forEach((part) => {
  part.querySelector('select').addEventListener('change', (event) => {
    part.querySelectorAll('figure').forEach((figure) => { figure.hidden = figure.dataset.metric !== event.target.value; });
  });
});
