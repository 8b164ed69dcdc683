import { type Nusd, nusdToUsd } from '@sotto/money';
import { monthAfter } from '@sotto/state';
import { refusalPercent } from '../ledger/budget-alerts.ts';
import { scopeOf } from '../ledger/budget-months.ts';
import { oneLine } from '../mail/mail.ts';
import type { AlertNow } from './delivery-store.ts';

/** An alert in words. Names that people chose are cut to one line. */
export interface AlertWords {
  readonly subject: string;
  readonly sentences: readonly string[];
}

export function wordsOf(alert: AlertNow): AlertWords {
  const { workspace, percent, month } = alert;
  const scope = scopeOf(alert);
  const limited = alert.key_name ?? alert.member_email ?? alert.tag;
  const budget = `budget of the ${scope}${limited === null ? '' : ` ${quoted(limited)}`}`;
  const name = quoted(workspace);
  const whose = `The monthly ${budget}${scope === 'workspace' ? ` ${name}` : ` in the workspace ${name}`}`;
  const spent = `Charged in ${month} (UTC) so far: ${shareOf(BigInt(alert.spent_nusd), BigInt(alert.limit_nusd))}.`;
  const monthEnds = `${monthAfter(month)}-01 00:00 UTC`;
  if (percent === refusalPercent) {
    return {
      subject: `A budget refused a request: ${oneLine(workspace)}`,
      sentences: [
        `${whose} refused a request, because it does not cover what the request might cost.`,
        `${spent} Running requests count until they settle.`,
        `Smaller requests may still run. The first refusal of a month is told once, until the budget is set again or ${monthEnds}.`,
      ],
    };
  }
  return {
    subject: `${percent} % of a budget is used: ${oneLine(workspace)}`,
    sentences: [
      `${whose} has passed ${percent} %.`,
      spent,
      percent === 100
        ? `Requests that would exceed it are refused until ${monthEnds}.`
        : 'At 100 %, further requests are refused until the month ends.',
    ],
  };
}

const quoted = (name: string): string => `"${oneLine(name)}"`;

/** An amount of a limit. Different amounts never look the same. */
function shareOf(spent: Nusd, limit: Nusd): string {
  const isSame = spent !== limit && usd(spent, 4) === usd(limit, 4);
  return `${usd(spent, isSame ? 9 : 4)} of ${usd(limit, 4)}`;
}

/** To the cent from a dollar on, below that to `digits`, and below a cent as exactly as the ledger counts. */
function usd(amount: Nusd, digits: number): string {
  const number = nusdToUsd(amount);
  const shown = number === 0 ? 2 : number < 0.01 ? 9 : number < 1 || digits > 4 ? digits : 2;
  return `$${number.toFixed(shown).replace(/(\.\d\d+?)0+$/, '$1')}`;
}
