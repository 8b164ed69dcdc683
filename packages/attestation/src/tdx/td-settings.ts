import { allZero } from '../bytes/bytes.ts';
import { Refusal } from '../refusal.ts';
import type { TdReport } from './quote.ts';

const septVeDisable = 1n << 28n;
const protectionKeys = 1n << 30n;
/** Bits of XFAM that TDX sets always, and those that it may set (Intel TDX module base specification, 11.8). */
const xfamAlways = 0x3n;
const xfamAllowed = 0x6dbe7n;

/** Refuses a debuggable or migratable machine, reserved bits, and one whose host may inject #VE on private memory. */
export function requireTdAttributes({ tdAttributes }: TdReport): void {
  if ((tdAttributes & 0xffn) !== 0n) throw new Refusal('the machine can be debugged by its host');
  if ((tdAttributes & septVeDisable) === 0n) throw new Refusal('SEPT_VE_DISABLE is not set');
  const others = tdAttributes & ~(septVeDisable | protectionKeys);
  if (others !== 0n) throw new Refusal(`TD attributes have bits that are not accepted: 0x${others.toString(16)}`);
}

export function requireXfam({ xfam }: TdReport): void {
  if ((xfam & xfamAlways) !== xfamAlways || (xfam & ~xfamAllowed) !== 0n) {
    throw new Refusal(`XFAM has a value that TDX does not allow: 0x${xfam.toString(16)}`);
  }
}

export function requireSeamAttributes({ seamAttributes }: TdReport): void {
  if (seamAttributes !== 0n) throw new Refusal('SEAM attributes are not zero');
}

/** A service TD may migrate the machine elsewhere; none of ours has one. */
export function requireNoServiceTd({ mrServiceTd }: TdReport): void {
  if (mrServiceTd !== undefined && !allZero(mrServiceTd)) throw new Refusal('a service TD is bound to the machine');
}
