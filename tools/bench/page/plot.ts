import type { Plot } from './report.ts';

const width = 760;
const ours = '#0f766e';
const others = '#94a3b8';
const palette = ['#0f766e', '#b45309', '#4338ca', '#be123c', '#15803d', '#6b7280'];

const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x}" y="${y}" font-size="12" fill="#334155" ${more}>${escaped(content)}</text>`;
const escaped = (content: string): string => content.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`);

/** A plot as SVG, to be read on a light page and a dark one. */
export function drawPlot(plot: Plot): string {
  const { height, content } = plot.kind === 'bars' ? drawBars(plot.bars) : drawLines(plot);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" role="img" aria-label="${escaped(plot.title)}">
<rect width="${width}" height="${height}" fill="#ffffff"/>
${text(12, 22, plot.title, 'font-weight="bold"')}
${content}
</svg>
`;
}

function drawBars(bars: Extract<Plot, { kind: 'bars' }>['bars']): { height: number; content: string } {
  const left = 290;
  const scale = (width - left - 70) / Math.max(...bars.map(({ value }) => value));
  const rows = bars.map(({ name, value, ours: isOurs }, index) => {
    const y = 40 + index * 26;
    const length = Math.max(1, value * scale);
    return [
      text(left - 10, y + 14, name, 'text-anchor="end"'),
      `<rect x="${left}" y="${y}" width="${length.toFixed(1)}" height="18" fill="${isOurs ? ours : others}"/>`,
      text(left + length + 6, y + 14, value >= 10 ? value.toFixed(0) : value.toFixed(2)),
    ].join('\n');
  });
  return { height: 52 + bars.length * 26, content: rows.join('\n') };
}

function drawLines({ lines, unit }: Extract<Plot, { kind: 'lines' }>): { height: number; content: string } {
  const [left, top, bottom, height] = [60, 44, 290, 340];
  const points = lines.flatMap((line) => line.points);
  const lastMinute = Math.max(1, ...points.map(([minute]) => minute));
  const highest = Math.max(1, ...points.map(([, value]) => value));
  const x = (minute: number): number => left + (minute / lastMinute) * (width - left - 20);
  const y = (value: number): number => bottom - (value / highest) * (bottom - top);
  const marks = [0, 0.5, 1].flatMap((part) => [
    `<line x1="${left}" x2="${width - 20}" y1="${y(highest * part)}" y2="${y(highest * part)}" stroke="#e2e8f0"/>`,
    text(left - 6, y(highest * part) + 4, (highest * part).toFixed(highest < 10 ? 1 : 0), 'text-anchor="end"'),
    text(x(lastMinute * part), bottom + 18, `${(lastMinute * part).toFixed(0)} min`, 'text-anchor="middle"'),
  ]);
  const apart = Math.min(165, (width - left - 20) / lines.length);
  const drawn = lines.map(({ name, points: own }, index) => {
    const colour = palette[index % palette.length] ?? ours;
    const path = own.map(([minute, value]) => `${x(minute).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
    return [
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
      `<rect x="${left + index * apart}" y="${bottom + 28}" width="10" height="10" fill="${colour}"/>`,
      text(left + 14 + index * apart, bottom + 37, name),
    ].join('\n');
  });
  return { height, content: [text(left, top - 8, unit), ...marks, ...drawn].join('\n') };
}
