// Colours from the style sheet, and what all charts share.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colourOf = (name) => css(name) || css('--arch-other');

// Components 0..255 of "#rrggbb".
const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// The colour a share `t` of the way from one to the other.
function blend(from, to, t) {
  const a = channels(from);
  const b = channels(to);
  return 'rgb(' + a.map((value, i) => Math.round(value + t * (b[i] - value))).join(', ') + ')';
}

// Whichever of black and white reads better on "rgb(r, g, b)".
function inkOn(rgb) {
  const [r, g, b] = rgb.match(/\d+/g).map(Number);
  return 0.299 * r + 0.587 * g + 0.114 * b > 145 ? '#101418' : '#ffffff';
}

function applyTheme() {
  Chart.register(legendAirPlugin);
  Chart.defaults.color = css('--muted');
  Chart.defaults.borderColor = css('--grid');
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  Chart.defaults.animation = false;
  Chart.defaults.maintainAspectRatio = false;
}

const tooltipStyle = () => ({
  backgroundColor: css('--ink'),
  titleColor: css('--card'),
  bodyColor: css('--card'),
  padding: 10,
  boxPadding: 4,
  usePointStyle: true,
});

const legendStyle = (pointStyle) => ({
  position: 'top',
  align: 'start',
  labels: {
    sort: (a, b) => a.datasetIndex - b.datasetIndex,
    color: css('--ink'), usePointStyle: true, pointStyle, boxWidth: 8, boxHeight: 8, padding: 12,
  },
});

// Some air between the legend and the chart under it.
const legendAirPlugin = {
  id: 'legendAir',
  beforeInit(chart) {
    if (!chart.legend) return;
    const fit = chart.legend.fit;
    chart.legend.fit = function fitWithAir() {
      fit.call(this);
      this.height += 8;
    };
  },
};

function axisTitle(text) {
  return { display: true, text, color: css('--muted'), font: { weight: '600' } };
}

function note(figure, className, text) {
  const sign = document.createElement('span');
  sign.className = className;
  const whole = document.createElement('span');
  whole.className = 'note';
  whole.append(sign, text);
  figure.querySelector('.key').append(whole);
}
