// Draws every chart of the page, again when the theme changes or the page is printed. Each figure
// says in data-drawn how many marks it shows and in data-inked how many pixels its canvas has that
// are not blank, the document in data-drawn how many charts are done.
const draw = { lines: drawLines, stack: drawStack, heatmap: drawHeatmap };
const charts = JSON.parse(document.getElementById('charts').textContent);
let drawnCharts = [];

function marksShown(drawn) {
  return drawn.getSortedVisibleDatasetMetas()
    .flatMap((meta) => meta.data)
    .filter((element) => Number.isFinite(element.x) && Number.isFinite(element.y)).length;
}

function inkedPixels({ ctx, canvas }) {
  const { data } = ctx.getImageData(0, 0, canvas.width, canvas.height);
  let inked = 0;
  for (let alpha = 3; alpha < data.length; alpha += 4) if (data[alpha] > 0) inked += 1;
  return inked;
}

function drawAll() {
  drawnCharts.forEach((drawn) => drawn.destroy());
  applyTheme();
  drawnCharts = charts.map((chart) => {
    const figure = document.getElementById('chart-' + chart.id);
    figure.querySelector('.key').replaceChildren();
    const drawn = draw[chart.kind](figure, figure.querySelector('canvas'), chart);
    figure.dataset.drawn = marksShown(drawn);
    figure.dataset.inked = inkedPixels(drawn);
    return drawn;
  });
  document.documentElement.dataset.drawn = drawnCharts.length + ' of ' + charts.length;
}

drawAll();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
addEventListener('beforeprint', () => {
  document.documentElement.dataset.print = '';
  drawAll();
});
addEventListener('afterprint', () => {
  delete document.documentElement.dataset.print;
  drawAll();
});
