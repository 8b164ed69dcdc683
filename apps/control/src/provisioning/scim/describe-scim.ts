import { maxScimPage, scimUrns, scimUserSchema } from '@sotto/contract/control/scim';

interface Attribute {
  readonly type?: 'string' | 'boolean' | 'complex' | 'reference';
  readonly multiValued?: true;
  readonly required?: true;
  readonly mutability?: 'readOnly';
  readonly uniqueness?: 'server';
  readonly subAttributes?: Readonly<Record<string, Attribute>>;
}

const names = Object.keys(scimUserSchema.shape.name.unwrap().shape);
const reference: Attribute = {
  type: 'complex',
  multiValued: true,
  subAttributes: {
    value: {},
    display: { mutability: 'readOnly' },
    $ref: { type: 'reference', mutability: 'readOnly' },
  },
};

const attributes: Readonly<Record<'User' | 'Group', Readonly<Record<string, Attribute>>>> = {
  User: {
    userName: { required: true, uniqueness: 'server' },
    displayName: {},
    name: { type: 'complex', subAttributes: Object.fromEntries(names.map((name) => [name, {}])) },
    emails: {
      ...{ type: 'complex', multiValued: true },
      subAttributes: { value: {}, type: {}, display: {}, primary: { type: 'boolean' } },
    },
    active: { type: 'boolean' },
    groups: { ...reference, mutability: 'readOnly' },
  },
  Group: { displayName: { required: true, uniqueness: 'server' }, members: reference },
};

const urns = { User: scimUrns.user, Group: scimUrns.group } as const;
const kinds = ['User', 'Group'] as const;

/** Completes an attribute with the defaults of RFC 7643, 2.2. */
const described = ([name, attribute]: readonly [string, Attribute]): object => ({
  name,
  ...{ type: 'string', multiValued: false, required: false, caseExact: false },
  ...{ mutability: 'readWrite', returned: 'default', uniqueness: 'none' },
  ...attribute,
  ...(attribute.subAttributes && { subAttributes: Object.entries(attribute.subAttributes).map(described) }),
});

const listOf = <Resource>(Resources: Resource[]) => ({
  schemas: [scimUrns.list] as [typeof scimUrns.list],
  ...{ totalResults: Resources.length, startIndex: 1, itemsPerPage: Resources.length, Resources },
});

const configUrn = 'urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig';
const schemaUrn = 'urn:ietf:params:scim:schemas:core:2.0:Schema';
const typeUrn = 'urn:ietf:params:scim:schemas:core:2.0:ResourceType';

/** The features of SCIM that this service supports (RFC 7643, 5). */
export const scimConfig = (base: string) => ({
  schemas: [configUrn],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: maxScimPage },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    { type: 'oauthbearertoken', name: 'Bearer token', description: 'The token that the operator set as SCIM_TOKEN.' },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
});

/** The types of resources (6). */
export const scimResourceTypes = (base: string) =>
  listOf(
    kinds.map((kind) => ({
      schemas: [typeUrn],
      ...{ id: kind, name: kind, endpoint: `/${kind}s`, schema: urns[kind] },
      meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes` },
    })),
  );

/** The schemas of resources (7): the attributes that are kept. */
export const scimSchemas = (base: string) =>
  listOf(
    kinds.map((kind) => ({
      schemas: [schemaUrn],
      ...{ id: urns[kind], name: kind, attributes: Object.entries(attributes[kind]).map(described) },
      meta: { resourceType: 'Schema', location: `${base}/Schemas` },
    })),
  );
