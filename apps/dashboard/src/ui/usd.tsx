import { formatExactUsd, formatUsd } from '../format/format.ts';

/** An amount in USD as people read it. The exact amount shows on hover. */
export function Usd({ usd }: { usd: number }) {
  const shown = formatUsd(usd);
  const exact = formatExactUsd(usd);
  return <span title={shown === exact ? undefined : exact}>{shown}</span>;
}
