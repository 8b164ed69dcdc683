import { readFile } from 'node:fs/promises';
import { nusdToUsd } from '@sotto/money';
import { parseBilling } from '../billing/billing-plan.ts';
import { CliError, type CliProcess } from './cli-process.ts';

/** Checks a billing file as control does when it starts. */
export async function billingCheck(context: CliProcess, file: string | undefined): Promise<number> {
  if (file === undefined) throw new CliError('usage: sotto-control billing check FILE');
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CliError(`${file} cannot be read`);
  });
  const parsed = parseBilling(text);
  if (!parsed.ok) {
    for (const { line, message } of parsed.problems) context.error(`${file}:${line}: ${message}`);
    return 1;
  }
  for (const { id, amountNusd, feeNusd } of parsed.value.packages.values()) {
    context.out(`${id}: ${nusdToUsd(amountNusd)} USD, and ${nusdToUsd(feeNusd)} USD fee`);
  }
  context.out(`${file}: nothing wrong`);
  return 0;
}
