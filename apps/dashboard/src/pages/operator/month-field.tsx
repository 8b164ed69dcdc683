import { useNavigate } from '@tanstack/react-router';
import { dayAt, monthFrom } from '../../format/days.ts';
import { formatMonth } from '../../format/format.ts';
import { SelectField } from '../../ui/field.tsx';

const monthsBack = 36;

/** This UTC month, such as `2026-11`. */
export const thisMonth = (): string => dayAt(Date.now()).slice(0, 7);

/** The days of a month; the second one is exclusive. */
export const daysOfMonth = (month: string) => ({ from: `${month}-01`, to: monthFrom(`${month}-01`, 1) });

interface MonthFieldProps {
  readonly to: '/operator/spend' | '/operator/orders';
  /** Undefined: all months, where that is offered. */
  readonly month: string | undefined;
  readonly offersAll?: boolean;
}

/** Chooses the month of a page, which its address keeps. */
export function MonthField({ to, month, offersAll = false }: MonthFieldProps) {
  const navigate = useNavigate();
  const months = Array.from({ length: monthsBack }, (_, ago) => monthFrom(`${thisMonth()}-01`, -ago).slice(0, 7));
  return (
    <SelectField
      className="md:w-52"
      label="Month (UTC)"
      value={month ?? ''}
      choices={[
        ...(offersAll ? [{ value: '', label: 'All months' }] : []),
        ...[...new Set([...months, ...(month === undefined ? [] : [month])])].map((value) => ({
          value,
          label: formatMonth(value),
        })),
      ]}
      onChange={(chosen) =>
        void navigate({ to, search: chosen === '' ? {} : { month: chosen }, replace: true, resetScroll: false })
      }
    />
  );
}
