// Numbers for people, by what they measure.
const significant = (value, digits = 3) =>
  Number(value).toLocaleString('en-US', { maximumSignificantDigits: digits });

const binaryUnits = [['T', 2 ** 40], ['G', 2 ** 30], ['M', 2 ** 20], ['K', 2 ** 10]];

function tokensText(value) {
  for (const [suffix, unit] of binaryUnits) {
    if (value >= unit && Number.isInteger((4 * value) / unit)) return value / unit + suffix;
  }
  return Number.isInteger(value) ? value.toLocaleString('en-US') : significant(value);
}

function countText(value) {
  if (value < 1e6) return significant(value, 6);
  return value.toLocaleString('en-US',
    { notation: 'compact', compactDisplay: 'long', maximumSignificantDigits: 4 });
}

function bytesText(value) {
  for (const [prefix, unit] of binaryUnits) {
    if (Math.abs(value) >= unit) return significant(value / unit) + ' ' + prefix + 'iB';
  }
  return significant(value) + ' B';
}

const timeUnits = [['d', 172800, 86400], ['h', 7200, 3600], ['min', 120, 60], ['s', 1, 1],
  ['ms', 1e-3, 1e-3], ['µs', 1e-6, 1e-6], ['ns', 0, 1e-9]];

// The unit in which people would say a time: [name, seconds in it].
function timeUnit(seconds) {
  const [name, , unit] = timeUnits.find(([, from]) => Math.abs(seconds) >= from);
  return [name, unit];
}

function secondsText(value) {
  if (value === 0) return '0 s';
  const [name, unit] = timeUnit(value);
  return significant(value / unit) + ' ' + name;
}

const formats = {
  tokens: tokensText,
  count: countText,
  seconds: secondsText,
  bytes: bytesText,
  ratio: (value) => significant(value, value < 10 ? 2 : 3) + '×',
  share: (value) => significant(100 * value) + ' %',
  rate: (value) => significant(value, 4) + '/s',
};
