// On paper: light colours, every attack written out, the map painted anew, and headings without buttons, because browsers repeat only
// such headings on every sheet.
let opened = [];
addEventListener('beforeprint', () => {
  document.documentElement.dataset.paper = '1';
  opened = [...root.querySelectorAll('details:not([open])')];
  for (const details of opened) details.open = true;
  root.querySelectorAll('.scroll thead button').forEach((button) => button.replaceWith(button.textContent));
  find('.scroll .filters').remove();
  if (map) map.renew();
  if (state.node !== null) showNode();
});
addEventListener('afterprint', () => {
  delete document.documentElement.dataset.paper;
  for (const details of opened) details.open = false;
  heads();
  drawTable();
  if (map) map.renew();
  if (state.node !== null) showNode();
});
