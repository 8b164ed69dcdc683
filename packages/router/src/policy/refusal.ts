import type { ErrorType } from '@sotto/wire';

/** Why a plan is impossible: an error type of the API and a sentence that says how to fix the request. */
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
