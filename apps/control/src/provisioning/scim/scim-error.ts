import type { ScimType } from '@sotto/contract/control/scim';
import { type ErrorType, ServiceError } from '@sotto/wire';

/** An error that SCIM names (RFC 7644, 3.12). */
export class ScimError extends ServiceError {
  readonly scimType: ScimType;

  constructor(scimType: ScimType, message: string) {
    super(typeOf[scimType] ?? 'invalid_request', { message });
    this.scimType = scimType;
  }
}

const typeOf: Readonly<Partial<Record<ScimType, ErrorType>>> = { uniqueness: 'conflict' };
