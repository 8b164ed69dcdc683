import type { ErrorType } from '@sotto/wire';

/** Why no plan can be made: an error type of the interface and a sentence that says what would be right. */
export interface Refusal {
  readonly type: ErrorType;
  readonly message: string;
  readonly param?: string;
}

export type Decision<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal };

export const accept = <T>(value: T): Decision<T> => ({ ok: true, value });

export function refuse(type: ErrorType, message: string, param?: string): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: param === undefined ? { type, message } : { type, message, param } };
}
