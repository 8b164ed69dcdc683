import type { PrivacyClass } from '@sotto/wire';
import type { Result, Results } from '../compare.ts';
import { figures, titleOf } from './table.ts';

const row = { height: 30, bar: 16, top: 74 } as const;
const labels = { left: 16, width: 240 } as const;
const panel = { width: 176, gap: 32 } as const;
/** The space in a panel for the figure next to the longest bar. */
const figureWidth = 76;
/** The x positions of the tiers' names in the legend, by the widths of the names before them. */
const legendAt = { anonymous: 0, private: 82, tee: 138 } as const;
const tiers = ['anonymous', 'private', 'tee'] as const satisfies readonly PrivacyClass[];

/** Draws a comparison: a row for each contender, a panel for each figure. It has its own background, light or dark. */
export function comparisonPlot(results: Results): string {
  const height = row.top + results.size * row.height + 40;
  const width = labels.left + labels.width + 4 * panel.width + 3 * panel.gap + 16;
  const all = [...results.values()];
  const rows = [...results].map(([name, result], index) => {
    const y = row.top + index * row.height;
    const kind = name === 'default' ? 'ours' : 'other';
    return [
      text(
        { x: labels.left, y: y + 12, is: kind === 'ours' ? 'name strong' : 'name' },
        titleOf(name).replaceAll('`', ''),
      ),
      bar(left(0), y, kind, failed(result) / most(all, failed), failedFigure(result)),
      bar(left(1), y, kind, result.medianCost / most(all, (each) => each.medianCost), figures.medianCost(result)),
      span(
        left(2),
        y,
        kind,
        result,
        most(all, (each) => each.ttftMs.p95),
      ),
      stack(left(3), y, result),
    ].join('\n');
  });
  const heads = ['Failed of 10,000 requests', 'Median cost of 1000', 'First token: p50 and p95', 'Share of each tier'];
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">`,
    '<title id="title">Failures, cost, time to first token and share of each privacy tier, by way of routing</title>',
    `<style>${style}</style>`,
    `<rect class="paper" width="${width}" height="${height}" rx="8"/>`,
    ...heads.map((head, index) => text({ x: left(index), y: 36, is: 'head' }, head)),
    ...tiers.map((tier) => legend(left(3) + legendAt[tier], tier)),
    ...[0, 1, 2].map((index) => axis(left(index), height - 34)),
    ...rows,
    text(
      { x: labels.left, y: height - 14, is: 'note' },
      `${all[0]?.requests.toLocaleString('en-US')} requests each; shorter is better, but for the tiers.`,
    ),
    '</svg>',
  ].join('\n')}\n`;
}

const left = (index: number): number => labels.left + labels.width + index * (panel.width + panel.gap);
const most = (results: readonly Result[], value: (result: Result) => number): number => Math.max(...results.map(value));
const failed = ({ successRate }: Result): number => (1 - successRate) * 10_000;
const failedFigure = (result: Result): string => failed(result).toFixed(1);
const px = (length: number): string => length.toFixed(1);

interface Place {
  readonly x: number;
  readonly y: number;
  readonly is: string;
}

const text = ({ x, y, is }: Place, words: string): string =>
  `<text class="${is}" x="${px(x)}" y="${px(y)}">${words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;

const axis = (x: number, bottom: number): string =>
  `<line class="axis" x1="${px(x)}" y1="${row.top - 8}" x2="${px(x)}" y2="${px(bottom)}"/>`;

function bar(x: number, y: number, kind: string, share: number, figure: string): string {
  const length = share * (panel.width - figureWidth);
  return [
    `<rect class="${kind}" x="${px(x)}" y="${y}" width="${px(length)}" height="${row.bar}"/>`,
    text({ x: x + length + 6, y: y + 12, is: 'figure' }, figure),
  ].join('\n');
}

/** Draws a bar up to the median and a line from there to the 95th percentile. */
function span(x: number, y: number, kind: string, result: Result, longest: number): string {
  const scale = (ms: number): number => (ms / longest) * (panel.width - figureWidth);
  const [p50, p95] = [x + scale(result.ttftMs.p50), x + scale(result.ttftMs.p95)];
  const middle = y + row.bar / 2;
  return [
    `<rect class="${kind}" x="${px(x)}" y="${y}" width="${px(p50 - x)}" height="${row.bar}"/>`,
    `<path class="whisker" d="M${px(p50)} ${middle}H${px(p95)}M${px(p95)} ${middle - 5}V${middle + 5}"/>`,
    text({ x: p95 + 6, y: y + 12, is: 'figure' }, `${figures.ttftP50(result)}, ${figures.ttftP95(result)}`),
  ].join('\n');
}

/** Draws the tiers' shares side by side, weakest first. A narrow share has no label. */
function stack(x: number, y: number, result: Result): string {
  let at = x;
  return tiers
    .flatMap((tier) => {
      const width = result.tiers[tier] * panel.width;
      const from = at;
      at += width;
      if (width < 0.5) return [];
      const rect = `<rect class="${tier}" x="${px(from)}" y="${y}" width="${px(width)}" height="${row.bar}"/>`;
      if (width < 34) return [rect];
      return [rect, text({ x: from + 5, y: y + 12, is: `on-${tier}` }, figures.tier(result, tier))];
    })
    .join('\n');
}

const legend = (x: number, tier: string): string =>
  [
    `<rect class="${tier}" x="${px(x)}" y="46" width="9" height="9"/>`,
    text({ x: x + 12, y: 54, is: 'note' }, tier),
  ].join('\n');

const style = [
  'text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2328}',
  '.paper{fill:#ffffff}.head{font-weight:600}.strong{font-weight:600}.note{font-size:11px;fill:#59636e}',
  '.axis{stroke:#d1d9e0}.whisker{stroke:#59636e;fill:none}.ours{fill:#0969da}.other{fill:#9aa4af}',
  '.anonymous{fill:#d6e9e5}.private{fill:#7cc4b6}.tee{fill:#14695d}.on-tee{fill:#ffffff}',
  '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}.note{fill:#9198a1}',
  '.axis{stroke:#3d444d}.whisker{stroke:#9198a1}.ours{fill:#4493f8}.other{fill:#656c76}',
  '.anonymous{fill:#24403b}.private{fill:#2f7d70}.tee{fill:#8fe0d1}.on-tee{fill:#0d1117}}',
].join('');
