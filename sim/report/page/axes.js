// Scales whose ticks are numbers that people count in.

// The least of 1, 2, 5 (or of powers of two) times a power of the base that is at least `value`.
function roundUp(value, powersOfTwo) {
  if (powersOfTwo) return 2 ** Math.ceil(Math.log2(value) - 1e-9);
  const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return [1, 2, 5, 10].find((step) => step * decade >= value * (1 - 1e-9)) * decade;
}
function roundDown(value) {
  const decade = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return [5, 2, 1].find((step) => step * decade <= value * (1 + 1e-9)) * decade;
}

function linearScale(axis, values) {
  const most = Math.max(0, ...values);
  let unit = 1;
  let format = formats[axis.quantity];
  if (axis.quantity === 'seconds' && most > 0) {
    const [name, seconds] = timeUnit(most);
    unit = seconds;
    format = (value) => significant(value / unit) + ' ' + name;
  }
  const binary = axis.quantity === 'bytes';
  let step = most > 0 ? roundUp(most / unit / 6, binary) * unit : 1;
  if (axis.quantity === 'count') step = Math.max(1, step);
  return {
    type: 'linear',
    min: 0,
    suggestedMax: most > 0 ? Math.ceil((most / step) * (1 - 1e-9)) * step : 1,
    title: axisTitle(axis.title),
    ticks: { stepSize: step, callback: format, maxRotation: 0, autoSkipPadding: 8 },
  };
}

function logarithmicScale(axis, values) {
  const positive = values.filter((value) => value > 0);
  const least = Math.min(...positive);
  const most = Math.max(...positive);
  const binary = axis.quantity === 'tokens';
  const ticks = [];
  let min = least;
  let max = most;
  let format = formats[axis.quantity];
  if (binary) {
    for (let at = 2 ** Math.ceil(Math.log2(least)); at <= most; at *= 2) ticks.push(at);
  } else {
    min = roundDown(least);
    max = roundUp(most, false);
    if (max <= min) max = roundUp(min * 1.01, false);
    const steps = Math.log10(max / min) < 3.1 ? [1, 2, 5] : [1];
    // One unit within a second and one beyond, so that a decade reads as ten times the last.
    if (axis.quantity === 'seconds') {
      format = (value) => (value < 1 ? secondsText(value) : significant(value) + ' s');
    }
    for (let decade = 10 ** Math.floor(Math.log10(min)); decade <= max * 1.001; decade *= 10) {
      for (const step of steps) {
        const at = Number((step * decade).toPrecision(3));
        if (at >= min * 0.999 && at <= max * 1.001) ticks.push(at);
      }
    }
  }
  return {
    type: 'logarithmic',
    min,
    max,
    title: axisTitle(axis.title),
    afterBuildTicks: (scale) => { scale.ticks = ticks.map((value) => ({ value })); },
    ticks: { callback: format, maxRotation: 0, autoSkip: true },
  };
}

const scaleOf = (axis, values) =>
  (axis.scale === 'logarithmic' ? logarithmicScale : linearScale)(axis, values);

// Straight lines across a chart, each with its word.
const marksPlugin = {
  id: 'marks',
  afterDatasetsDraw(chart, args, options) {
    const { ctx, chartArea: area } = chart;
    ctx.save();
    ctx.strokeStyle = css('--muted');
    ctx.fillStyle = css('--ink');
    ctx.setLineDash([4, 4]);
    ctx.font = '600 11px ' + Chart.defaults.font.family;
    for (const mark of options.marks || []) {
      const at = chart.scales[mark.axis].getPixelForValue(mark.at);
      const vertical = mark.axis === 'x';
      ctx.beginPath();
      ctx.moveTo(vertical ? at : area.left, vertical ? area.top : at);
      ctx.lineTo(vertical ? at : area.right, vertical ? area.bottom : at);
      ctx.stroke();
      const width = ctx.measureText(mark.label).width;
      const left = vertical ? (at + 6 + width < area.right ? at + 6 : at - 6 - width)
        : area.left + 6;
      const baseline = vertical ? area.bottom - 8 : at - 5;
      ctx.globalAlpha = 0.85;
      ctx.fillStyle = css('--card');
      ctx.fillRect(left - 3, baseline - 11, width + 6, 15);
      ctx.globalAlpha = 1;
      ctx.fillStyle = css('--ink');
      ctx.fillText(mark.label, left, baseline);
    }
    ctx.restore();
  },
};
