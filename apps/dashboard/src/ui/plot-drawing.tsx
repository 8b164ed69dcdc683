import { Bar, BarChart, CartesianGrid, Line, LineChart, Tooltip, XAxis, YAxis } from 'recharts';
import { colourOf, type PlotPoint, type PlotProps, plotHeight, roundTicks } from './plot-parts.ts';

/** The drawing alone; `plot.tsx` loads it when it is needed. */
export function PlotDrawing(props: PlotProps) {
  const { kind, title, unit, series, points, formatX, formatTick, formatValue, domain, isCount = false } = props;
  const { formatAxis = formatValue } = props;
  const most = Math.max(0, ...points.map((point) => highestOf(point, kind)));
  const levels = roundTicks(domain?.[1] ?? most, isCount);
  const common = {
    data: [...points],
    responsive: true,
    className: plotHeight,
    margin: { top: 8, right: 8, bottom: 0, left: 0 },
    accessibilityLayer: true,
    title: `${title}, ${unit}`,
  };
  const parts = (
    <>
      {/* Without lines to generate, the grid does not measure the text of each tick. */}
      <CartesianGrid vertical={false} verticalCoordinatesGenerator={noLines} stroke="var(--line)" syncWithTicks />
      <XAxis
        dataKey="x"
        {...(props.ticks === undefined ? {} : { ticks: props.ticks })}
        tickFormatter={formatTick}
        tickLine={false}
        axisLine={{ stroke: 'var(--line-strong)' }}
        tick={tick}
        minTickGap={28}
        // Every second, third and so on: equal steps, whatever fits. Named ones keep their steps, and lose one that leaves the plot.
        interval={props.ticks === undefined ? 'equidistantPreserveStart' : 'preserveStart'}
      />
      <YAxis
        tickFormatter={formatAxis}
        tickLine={false}
        axisLine={false}
        tick={tick}
        width="auto"
        ticks={levels}
        domain={[0, levels.at(-1) ?? 1]}
        // A line at the highest tick has its whole width.
        padding={{ top: kind === 'lines' ? 4 : 0 }}
      />
      <Tooltip
        isAnimationActive={false}
        cursor={kind === 'stack' ? { fill: 'var(--raised)' } : { stroke: 'var(--line-strong)' }}
        content={({ active, payload }) => {
          const row: PlotPoint | undefined = payload?.[0]?.payload;
          if (active !== true || row === undefined) return null;
          return <Reading row={row} series={series} kind={kind} formatX={formatX} formatValue={formatValue} />;
        }}
      />
    </>
  );
  if (kind === 'stack') {
    return (
      <BarChart {...common} barCategoryGap="20%" maxBarSize={48}>
        {parts}
        {series.map((one, index) => (
          <Bar
            key={one.id}
            name={one.name}
            dataKey={(row: PlotPoint) => row.values[index]}
            stackId="all"
            fill={colourOf(index, one)}
            stroke="var(--surface)"
            strokeWidth={1}
            isAnimationActive={false}
          />
        ))}
      </BarChart>
    );
  }
  return (
    <LineChart {...common}>
      {parts}
      {series.map((one, index) => (
        <Line
          key={one.id}
          name={one.name}
          dataKey={(row: PlotPoint) => row.values[index]}
          stroke={colourOf(index, one)}
          strokeWidth={2}
          strokeDasharray={dashes[index % dashes.length] ?? '0'}
          dot={{ r: 2.5, strokeDasharray: '0', fill: colourOf(index, one) }}
          isAnimationActive={false}
        />
      ))}
    </LineChart>
  );
}

const highestOf = ({ values }: PlotPoint, kind: PlotProps['kind']): number =>
  kind === 'stack'
    ? values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
    : Math.max(0, ...values.map((value) => value ?? 0));

const noLines = (): number[] => [];
const tick = { fill: 'var(--muted)', fontSize: 12 };
/** Distinguishes the lines without colours. */
const dashes = ['0', '6 3', '2 3', '8 3 2 3', '12 4'];

type ReadingProps = Pick<PlotProps, 'series' | 'kind' | 'formatX' | 'formatValue'> & { readonly row: PlotPoint };

/** The values at one point. A stack leaves out those that are zero. */
function Reading({ row, series, kind, formatX, formatValue }: ReadingProps) {
  const lines = series
    .map((one, index) => ({ ...one, colour: colourOf(index, one), value: row.values[index] ?? null }))
    .filter(({ value }) => kind === 'lines' || (value !== null && value !== 0));
  const sum = lines.reduce((total, { value }) => total + (value ?? 0), 0);
  return (
    <div className="max-w-64 rounded-lg border border-line-strong bg-surface px-3 py-2 text-sm shadow-lg">
      <p className="font-medium">{formatX(row.x)}</p>
      {lines.length === 0 && <p className="text-muted">Nothing</p>}
      {lines.map(({ id, name, colour, value }) => (
        <p key={id} className="flex items-center gap-2">
          <span aria-hidden className="size-2.5 shrink-0 rounded-sm" style={{ background: colour }} />
          <span className="min-w-0 flex-1 truncate">{name}</span>
          <span className="tabular-nums">{value === null ? '–' : formatValue(value)}</span>
        </p>
      ))}
      {kind === 'stack' && lines.length > 1 && (
        <p className="mt-1 flex justify-between gap-2 border-t border-line pt-1 font-medium">
          All <span className="tabular-nums">{formatValue(sum)}</span>
        </p>
      )}
    </div>
  );
}
