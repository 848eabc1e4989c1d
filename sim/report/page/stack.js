// Horizontal bars made of segments, the sum at each bar's end.
const totalsPlugin = {
  id: 'totals',
  afterDatasetsDraw(chart, args, options) {
    if (!options.totals) return;
    const { ctx } = chart;
    ctx.save();
    ctx.fillStyle = css('--ink');
    ctx.font = '600 12px ' + Chart.defaults.font.family;
    ctx.textBaseline = 'middle';
    options.totals.forEach((total, i) => {
      const shown = chart.getSortedVisibleDatasetMetas()
        .reduce((sum, meta) => sum + (chart.data.datasets[meta.index].data[i] || 0), 0);
      const bar = chart.getDatasetMeta(0).data[i];
      ctx.fillText(options.format(shown), chart.scales.x.getPixelForValue(shown) + 6, bar.y);
    });
    ctx.restore();
  },
};

function drawStack(figure, canvas, chart) {
  const totals = chart.bars.map((bar, i) =>
    chart.segments.reduce((sum, segment) => sum + (segment.values[i] || 0), 0));
  const format = formats[chart.value.quantity];
  canvas.parentElement.style.height = 8.5 + 2.1 * chart.bars.length + 'rem';
  const x = scaleOf(chart.value, totals.concat(chart.marks.map((mark) => mark.at)));
  x.stacked = true;
  return new Chart(canvas, {
    type: 'bar',
    data: {
      labels: chart.bars,
      datasets: chart.segments.map((segment) => ({
        label: segment.name,
        data: segment.values,
        backgroundColor: colourOf(segment.colour),
        borderColor: css('--card'),
        borderWidth: { right: 1 },
        borderSkipped: false,
        categoryPercentage: 0.82,
        barPercentage: 0.92,
        maxBarThickness: 30,
      })),
    },
    plugins: [totalsPlugin, marksPlugin],
    options: {
      indexAxis: 'y',
      interaction: { mode: 'nearest', axis: 'y', intersect: true },
      layout: { padding: { right: 70 } },
      scales: {
        x,
        y: { stacked: true, grid: { display: false }, ticks: { color: css('--ink') } },
      },
      plugins: {
        totals: { totals, format },
        marks: { marks: chart.marks },
        legend: legendStyle('rect'),
        tooltip: {
          ...tooltipStyle(),
          callbacks: {
            label: (item) => item.dataset.label + ': ' + format(item.parsed.x) + ', '
              + formats.share(item.parsed.x / totals[item.dataIndex]),
          },
        },
      },
    },
  });
}
