import { lazy, Suspense } from 'react';
import { colourOf, type PlotProps, plotHeight } from './plot-parts.ts';
import { PlotTable } from './plot-table.tsx';
import { Skeleton } from './skeleton.tsx';

/** The library that draws is half of all script: it comes with the first plot. */
const Drawing = lazy(async () => ({ default: (await import('./plot-drawing.tsx')).PlotDrawing }));

/**
 * Figures over time, drawn, with a legend and, behind a button, as a table. By keyboard: the plot takes the focus, the
 * arrows go from point to point and tell its figures.
 */
export function Plot(props: PlotProps) {
  const { series, title, unit, hideTitle = false } = props;
  return (
    <figure className="min-w-0">
      <figcaption className="mb-3 flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
        <span className={hideTitle ? 'sr-only' : 'font-medium'}>{title}</span>
        <span className="text-sm text-muted">{unit}</span>
      </figcaption>
      <Suspense fallback={<Skeleton className={plotHeight} />}>
        <Drawing {...props} />
      </Suspense>
      {series.length > 1 && (
        <ul aria-label="Legend" className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {series.map(({ id, name }, index) => (
            <li key={id} className="flex min-w-0 items-center gap-2">
              <span
                aria-hidden
                className="size-2.5 shrink-0 rounded-sm"
                style={{ background: colourOf(index, series[index]) }}
              />
              <span className="min-w-0 break-words">{name}</span>
            </li>
          ))}
        </ul>
      )}
      <PlotTable {...props} />
    </figure>
  );
}
