/** What the address of the page keeps: whose enclave is looked at. */
export interface VerifySearch {
  readonly model?: string;
  readonly provider?: string;
}

export function readVerifySearch({ model, provider }: Readonly<Record<string, unknown>>): VerifySearch {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 256;
  return { ...(isText(model) ? { model } : {}), ...(isText(provider) ? { provider } : {}) };
}
