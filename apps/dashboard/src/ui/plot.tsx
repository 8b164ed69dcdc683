import { Suspense, useId, useState } from 'react';
import { Button } from './button.tsx';
import { lazyPage, useSettled } from './lazy-page.ts';
import { colourOf, type PlotProps, plotHeight } from './plot-parts.ts';
import { ScrollArea, Skeleton } from './surface.tsx';
import { Truncated } from './text.tsx';

/** The drawing library is half of all script, so it is loaded with the first plot. */
const Drawing = lazyPage(() => import('./plot-drawing.tsx'), 'PlotDrawing');

/**
 * Figures over time, drawn, with a legend and, behind a button, as a table. By keyboard: the plot takes the focus, the
 * arrows go from point to point and tell its figures.
 */
export function Plot(props: PlotProps) {
  const { series, title, unit, hideTitle = false } = props;
  const isSettled = useSettled(Drawing);
  const loading = <Skeleton className={plotHeight} />;
  return (
    <figure className="min-w-0">
      <figcaption className="mb-3 flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
        <span className={hideTitle ? 'sr-only' : 'font-medium'}>{title}</span>
        <span className="text-sm text-muted">{unit}</span>
      </figcaption>
      <Suspense fallback={loading}>{isSettled ? <Drawing {...props} /> : loading}</Suspense>
      {series.length > 1 && (
        <ul aria-label="Legend" className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {series.map(({ id, name }, index) => (
            <li key={id} className="flex min-w-0 items-center gap-2">
              <span
                aria-hidden
                className="size-2.5 shrink-0 rounded-sm"
                style={{ background: colourOf(index, series[index]) }}
              />
              <Truncated text={name} />
            </li>
          ))}
        </ul>
      )}
      <PlotTable {...props} />
    </figure>
  );
}

/** The figures of a plot as a table. */
function PlotTable({ title, unit, series, points, formatX, formatValue, formatColumns, footer }: PlotProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const format = formatColumns?.(points.flatMap(({ values }) => values)) ?? formatValue;
  return (
    <div className="mt-3">
      <div className="-ml-2.5 flex flex-wrap">
        <Button small look="quiet" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
          {isOpen ? 'Hide the table' : 'Show as a table'}
        </Button>
        {footer}
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && (
          <ScrollArea label={`${title}, as a table`}>
            <table className="w-full text-sm tabular-nums">
              <caption className="sr-only">{`${title}, ${unit}`}</caption>
              <thead>
                <tr className="border-b border-line text-muted">
                  <th scope="col" className="py-1.5 pr-4 text-left font-medium">
                    Time
                  </th>
                  {series.map((one) => (
                    <th key={one.id} scope="col" className="py-1.5 pl-4 text-right font-medium whitespace-nowrap">
                      <Truncated text={one.name} />
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {points.map(({ x, values }) => (
                  <tr key={x} className="border-b border-line last:border-0">
                    <th scope="row" className="py-1.5 pr-4 text-left font-normal whitespace-nowrap">
                      {formatX(x)}
                    </th>
                    {series.map((one, index) => (
                      <td key={one.id} className="py-1.5 pl-4 text-right">
                        {shown(values[index], format)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollArea>
        )}
      </div>
    </div>
  );
}

const shown = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? '–' : format(value);
