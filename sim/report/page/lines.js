// Lines over a length, a load or time. Later ones are drawn over earlier ones, and thinner, so that
// equal lines are seen as such.
const pointStyles = ['circle', 'rect', 'triangle', 'rectRot', 'crossRot', 'star', 'cross',
  'rectRounded', 'circle', 'rect', 'triangle'];
const dashes = [[], [7, 4], [2, 3], [9, 3, 2, 3], [12, 4]];
const mostMarkedPoints = 40;

function drawLines(figure, canvas, chart) {
  const all = (pick) => chart.series.flatMap((series) => series.points.map(pick))
    .filter((value) => value !== null);
  const marksAt = (axis) => chart.marks.filter((mark) => mark.axis === axis)
    .map((mark) => mark.at);
  const x = scaleOf(chart.x, all((point) => point[0]).concat(marksAt('x')));
  const y = scaleOf(chart.y, all((point) => point[1]).concat(marksAt('y')));
  if (chart.x.scale === 'linear') {
    x.min = Math.min(...all((point) => point[0]));
    x.max = Math.max(x.min + Number.EPSILON, ...all((point) => point[0]));
    x.ticks.includeBounds = false;
    delete x.suggestedMax;
  }
  if (chart.series.some((series) => series.points.some((point) => point[2]))) {
    note(figure, 'hollow', chart.doubt);
  }
  const above = (value) => chart.y.scale === 'linear' || value > 0;
  const datasets = chart.series.map((series, i) => {
    const colour = colourOf(series.colour);
    const marked = series.points.length <= mostMarkedPoints;
    return {
      label: series.name,
      data: series.points.map(([px, py]) => ({ x: px, y: py !== null && above(py) ? py : NaN })),
      borderColor: colour,
      borderWidth: marked ? Math.max(2, 4.5 - 1.25 * i) : 1.75,
      order: chart.series.length - i,
      clip: 8,
      borderDash: dashes[series.dash % dashes.length],
      backgroundColor: colour,
      pointBackgroundColor: series.points.map((point) => (point[2] ? css('--card') : colour)),
      pointBorderColor: colour,
      pointBorderWidth: 1.5,
      pointStyle: pointStyles[i % pointStyles.length],
      pointRadius: marked ? Math.max(4, 5.5 - 0.75 * i) : 0,
      pointHoverRadius: 6,
      stepped: chart.stepped ? 'before' : false,
    };
  });
  return new Chart(canvas, {
    type: 'line',
    data: { datasets },
    plugins: [marksPlugin],
    options: {
      parsing: false,
      interaction: { mode: 'nearest', axis: 'x', intersect: false },
      scales: { x, y },
      plugins: {
        marks: { marks: chart.marks },
        legend: legendStyle(undefined),
        tooltip: {
          ...tooltipStyle(),
          itemSort: (a, b) => b.parsed.y - a.parsed.y,
          callbacks: {
            title: (items) => items.length === 0 ? ''
              : chart.x.title + ' ' + formats[chart.x.quantity](items[0].parsed.x),
            label: (item) => item.dataset.label + ': '
              + formats[chart.y.quantity](item.parsed.y)
              + (chart.series[item.datasetIndex].points[item.dataIndex][2]
                ? ' (' + chart.doubt + ')' : ''),
          },
        },
      },
    },
  });
}
