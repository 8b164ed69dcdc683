import { useId, useState } from 'react';
import { Button } from './button.tsx';
import type { PlotProps } from './plot-parts.ts';
import { ScrollArea } from './scroll-area.tsx';

/** The figures of a plot in rows, for whoever would rather read them. */
export function PlotTable({ title, unit, series, points, formatX, formatValue, footer }: PlotProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
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
                      {one.name}
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
                        {shown(values[index], formatValue)}
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
