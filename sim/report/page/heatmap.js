// A heat map: stacked bars of height 1, a dataset a row, a bar a cell.
function heatColours(chart) {
  const values = chart.layers.flatMap((layer) => layer.values.flat())
    .filter((value) => value !== null && value > 0);
  const logs = values.map(Math.log);
  const least = Math.min(...logs);
  const most = Math.max(...logs);
  const [low, middle, high] = ['--heat-low', '--heat-middle', '--heat-high'].map(css);
  if (!chart.aroundOne) {
    const span = most > least ? most - least : 1;
    return (value) => blend(middle, high, 0.08 + 0.92 * ((Math.log(value) - least) / span));
  }
  const reach = Math.max(Math.abs(least), Math.abs(most), Math.log(1.5));
  return (value) => {
    const share = Math.log(value) / reach;
    return blend(middle, share < 0 ? low : high, Math.min(1, Math.abs(share) ** 0.8));
  };
}

const cellsPlugin = {
  id: 'cells',
  afterDatasetsDraw(chart, args, options) {
    const { ctx } = chart;
    const { layer, asked, format } = options;
    ctx.save();
    ctx.textAlign = 'center';
    ctx.textBaseline = 'middle';
    chart.data.datasets.forEach((dataset, row) => {
      chart.getDatasetMeta(row).data.forEach((bar, column) => {
        const value = layer().values[row][column];
        const left = bar.x - bar.width / 2;
        const height = bar.base - bar.y;
        if (value === null) return;
        ctx.strokeStyle = ctx.fillStyle = inkOn(dataset.backgroundColor[column]);
        if (layer().doubts[row][column]) hatch(ctx, left, bar.y, bar.width, height);
        const text = format(value);
        const size = Math.min(12, height - 6, (1.5 * (bar.width - 4)) / text.length);
        if (size >= 7) {
          ctx.font = Math.floor(size) + 'px ' + Chart.defaults.font.family;
          ctx.fillText(text, bar.x, bar.y + height / 2);
        }
        if (asked && asked[0] === column && asked[1] === row) {
          ctx.strokeStyle = css('--ink');
          ctx.lineWidth = 2.5;
          ctx.strokeRect(left + 1, bar.y + 1, bar.width - 2, height - 2);
        }
      });
    });
    ctx.restore();
  },
};

function hatch(ctx, left, top, width, height) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.globalAlpha = 0.35;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let at = -height; at < width; at += 6) {
    ctx.moveTo(left + at, top + height);
    ctx.lineTo(left + at + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

function heatKey(figure, chart, show) {
  const key = figure.querySelector('.key');
  if (chart.layers.length > 1) {
    const buttons = chart.layers.map((layer, i) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = layer.name;
      button.setAttribute('aria-pressed', String(i === Number(figure.dataset.layer || 0)));
      button.addEventListener('click', () => {
        buttons.forEach((other) => other.setAttribute('aria-pressed', String(other === button)));
        show(i);
      });
      return button;
    });
    key.append(...buttons);
  }
  const [low, middle, high] = ['--heat-low', '--heat-middle', '--heat-high'].map(css);
  const ramp = document.createElement('span');
  ramp.className = 'ramp';
  ramp.style.background = 'linear-gradient(90deg, '
    + (chart.aroundOne ? [low, middle, high] : [middle, high]).join(', ') + ')';
  const scale = document.createElement('span');
  scale.className = 'note';
  scale.append(chart.aroundOne ? 'slower' : 'less', ramp, chart.aroundOne ? 'faster' : 'more');
  key.append(scale);
  if (chart.layers.some((layer) => layer.doubts.flat().includes(true))) {
    note(figure, 'hatched', chart.doubt);
  }
}

function drawHeatmap(figure, canvas, chart) {
  const colour = heatColours(chart);
  const format = formats[chart.quantity];
  const layer = () => chart.layers[Number(figure.dataset.layer || 0)];
  const fill = (row) => layer().values[row].map((value) =>
    (value === null ? blend(css('--card'), css('--card'), 0) : colour(value)));
  const asked = chart.asked
    && [chart.columns.indexOf(chart.asked[0]), chart.rows.indexOf(chart.asked[1])];
  const drawn = new Chart(canvas, {
    type: 'bar',
    data: {
      labels: chart.columns.map(formats[chart.x.quantity]),
      datasets: chart.rows.map((value, row) => ({
        label: formats[chart.y.quantity](value),
        data: chart.columns.map(() => 1),
        backgroundColor: fill(row),
        borderColor: css('--card'),
        borderWidth: 1,
        borderSkipped: false,
        categoryPercentage: 1,
        barPercentage: 1,
      })),
    },
    plugins: [cellsPlugin],
    options: {
      interaction: { mode: 'nearest', intersect: true },
      scales: {
        x: { stacked: true, title: axisTitle(chart.x.title), grid: { display: false },
          ticks: { maxRotation: 0 } },
        y: { stacked: true, min: 0, max: chart.rows.length, title: axisTitle(chart.y.title),
          grid: { display: false },
          afterBuildTicks: (scale) => {
            scale.ticks = chart.rows.map((value, row) => ({ value: row + 0.5 }));
          },
          ticks: { callback: (at) => formats[chart.y.quantity](chart.rows[Math.floor(at)]) } },
      },
      plugins: {
        legend: { display: false },
        cells: { layer, asked, format },
        tooltip: {
          ...tooltipStyle(),
          callbacks: {
            title: ([item]) => chart.x.title + ' ' + item.label + ', ' + chart.y.title + ' '
              + item.dataset.label,
            label: (item) => {
              const value = layer().values[item.datasetIndex][item.dataIndex];
              return layer().name + ': ' + (value === null ? 'n/a' : format(value))
                + (layer().doubts[item.datasetIndex][item.dataIndex]
                  ? ' (' + chart.doubt + ')' : '');
            },
          },
        },
      },
    },
  });
  heatKey(figure, chart, (i) => {
    figure.dataset.layer = i;
    drawn.data.datasets.forEach((dataset, row) => { dataset.backgroundColor = fill(row); });
    drawn.update('none');
  });
  return drawn;
}
