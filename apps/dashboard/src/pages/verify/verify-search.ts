/** The chosen enclave, as the address keeps it. */
interface VerifySearch {
  readonly model?: string;
  readonly provider?: string;
}

export function readVerifySearch({ model, provider }: Readonly<Record<string, unknown>>): VerifySearch {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && value.length <= 256;
  return { ...(isText(model) ? { model } : {}), ...(isText(provider) ? { provider } : {}) };
}
