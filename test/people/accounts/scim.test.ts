import { describe, expect, it } from 'vitest';
import { freshAddress, useProvider } from './by-provider.ts';
import { type ScimAnswer, scimClient, scimToken, urns } from './scim-client.ts';

const { world } = await useProvider({ scimToken });
const scim = scimClient(world.origin);
const base = `${world.origin}/v1/scim/v2`;

/** The full user of RFC 7643, 8.2, with a name of its own. */
const rfcUser = (userName: string) => ({
  schemas: [urns.user],
  externalId: '701984',
  userName,
  name: {
    formatted: 'Ms. Barbara J Jensen, III',
    familyName: 'Jensen',
    givenName: 'Barbara',
    middleName: 'Jane',
    honorificPrefix: 'Ms.',
    honorificSuffix: 'III',
  },
  displayName: 'Babs Jensen',
  nickName: 'Babs',
  profileUrl: 'https://login.example.com/bjensen',
  emails: [
    { value: userName, type: 'work', primary: true },
    { value: `home-${userName}`, type: 'home' },
  ],
  addresses: [{ streetAddress: '100 Universal City Plaza', locality: 'Hollywood', type: 'work' }],
  phoneNumbers: [{ value: '555-555-5555', type: 'work' }],
  password: 't1meMa$heen',
  title: 'Tour Guide',
  active: true,
});

const created = async (userName = freshAddress()): Promise<ScimAnswer['json']> =>
  (await scim.post('/Users', { schemas: [urns.user], userName })).json;

/** The status and the SCIM type of an error, in the form of RFC 7644, 3.12. */
function errorOf({ status, headers, json }: ScimAnswer): [number, string | undefined] {
  expect(headers.get('content-type')).toBe('application/scim+json; charset=utf-8');
  expect(json).toEqual({
    ...{ schemas: [urns.error], status: String(status), detail: expect.stringMatching(/\.$/) },
    ...(json.scimType === undefined ? {} : { scimType: expect.any(String) }),
  });
  return [status, json.scimType];
}

describe('SCIM', () => {
  it('describes itself', async () => {
    const { status, headers, json } = await scim.get('/ServiceProviderConfig');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/scim+json; charset=utf-8']);
    expect(json).toMatchObject({ patch: { supported: true }, filter: { supported: true, maxResults: 200 } });
    expect((await scim.get('/ResourceTypes')).json.Resources).toMatchObject([
      { id: 'User', endpoint: '/Users', schema: urns.user },
      { id: 'Group', endpoint: '/Groups', schema: urns.group },
    ]);
    const schemas = (await scim.get('/Schemas')).json;
    expect(schemas).toMatchObject({ schemas: [urns.list], totalResults: 2 });
    expect(schemas.Resources.map(({ id }: { id: string }) => id)).toEqual([urns.user, urns.group]);
    const { attributes } = schemas.Resources[0];
    expect(attributes.find(({ name }: { name: string }) => name === 'userName')).toMatchObject({
      ...{ type: 'string', required: true, uniqueness: 'server', mutability: 'readWrite', caseExact: false },
    });
  });

  it('is for its token alone, and exists only if the operator has set one', async () => {
    for (const token of ['', 'x', `${scimToken}x`, scimToken.slice(1)])
      expect(errorOf(await scimClient(world.origin, token).get('/Users'))).toEqual([401, undefined]);
    const off = await world.another({ scimToken: undefined as never });
    expect((await scimClient(off.origin).get('/Users')).status).toBe(404);
    // The token is of no use elsewhere.
    const headers = { authorization: `Bearer ${scimToken}` };
    expect((await world.visitor().get('/keys', headers)).status).toBe(401);
  });

  it('creates the user of the RFC, keeps what it says that it keeps, and no password', async () => {
    const userName = freshAddress();
    const { status, headers, json } = await scim.post('/Users', rfcUser(userName));
    const { name, emails } = rfcUser(userName);
    const user = {
      ...{ schemas: [urns.user], id: expect.any(String), externalId: '701984', userName, active: true },
      ...{ displayName: 'Babs Jensen', name, emails, groups: [] },
      meta: {
        ...{ resourceType: 'User', created: expect.any(String), lastModified: expect.any(String) },
        location: `${base}/Users/${json.id}`,
      },
    };
    expect([status, headers.get('location'), json]).toEqual([201, user.meta.location, user]);
    expect((await scim.get(`/Users/${json.id}`)).json).toEqual(user);
    const { rows } = await world.pool.query<{ all: string }>(
      'select scim_users::text as all from scim_users where id = $1',
      [json.id],
    );
    expect(rows[0]?.all).not.toMatch(/t1meMa|555-555|Hollywood|Tour Guide/);
  });

  it('takes plain JSON, too, and explains other types of bodies', async () => {
    const plain = scimClient(world.origin, scimToken, 'application/json');
    expect((await plain.post('/Users', { userName: freshAddress() })).status).toBe(201);
    const xml = scimClient(world.origin, scimToken, 'application/xml');
    expect(errorOf(await xml.post('/Users', {}))).toEqual([415, undefined]);
  });

  it('refuses a second user of a name, in any case, and a body that is not one', async () => {
    const userName = freshAddress();
    await created(userName);
    const other = await created();
    const twice = { schemas: [urns.user], userName: userName.toUpperCase() };
    expect(errorOf(await scim.post('/Users', twice))).toEqual([409, 'uniqueness']);
    expect(errorOf(await scim.put(`/Users/${other.id}`, twice))).toEqual([409, 'uniqueness']);
    // Of two at once, one is created.
    const name = freshAddress();
    const both = await Promise.all([1, 2].map(() => scim.post('/Users', { userName: name })));
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    for (const body of [{}, { userName: '' }, { userName: 7 }, { userName: 'x', emails: [{ value: 'no address' }] }])
      expect(errorOf(await scim.post('/Users', body))).toEqual([400, 'invalidValue']);
    expect(errorOf(await scim.get('/Users/2819c223-7f76-453a-919d-413861904646'))).toEqual([404, undefined]);
    expect(errorOf(await scim.get('/Users/none'))).toEqual([404, undefined]);
  });

  it('finds users by name, external id and address, and pages', async () => {
    const [ann, ben] = [freshAddress(), freshAddress()];
    const { id } = (await scim.post('/Users', { ...rfcUser(ann), externalId: `id-${ann}` })).json;
    await created(ben);
    const found = async (filter: string) => (await scim.get(`/Users?filter=${encodeURIComponent(filter)}`)).json;
    for (const filter of [
      ...[`userName eq "${ann.toUpperCase()}"`, `USERNAME EQ "${ann}"`, `externalId eq "id-${ann}"`, `id eq "${id}"`],
      ...[`emails.value eq "home-${ann}"`, `${urns.user}:userName eq "${ann}"`],
    ]) {
      const list = await found(filter);
      expect([filter, list.totalResults, list.Resources[0]?.id]).toEqual([filter, 1, id]);
    }
    expect(await found('userName eq "nobody"')).toEqual({
      ...{ schemas: [urns.list], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] },
    });
    for (const filter of ['userName sw "a"', 'title eq "x"', 'userName eq x', 'userName eq "a" or id eq "b"', '('])
      expect(errorOf(await scim.get(`/Users?filter=${encodeURIComponent(filter)}`))).toEqual([400, 'invalidFilter']);
    const all = (await scim.get('/Users?count=200')).json;
    const second = (await scim.get('/Users?startIndex=2&count=1')).json;
    expect(second).toMatchObject({ totalResults: all.totalResults, startIndex: 2, itemsPerPage: 1 });
    expect(second.Resources[0].id).toBe(all.Resources[1].id);
    expect((await scim.get('/Users?count=0')).json).toMatchObject({ totalResults: all.totalResults, Resources: [] });
    expect((await scim.get('/Users?startIndex=-3&count=-1')).json).toMatchObject({ startIndex: 1, itemsPerPage: 0 });
  });

  it('changes users by the operations of the RFC, and as providers send them', async () => {
    const userName = freshAddress();
    const { id } = (await scim.post('/Users', rfcUser(userName))).json;
    const path = `/Users/${id}`;
    const after = async (...operations: readonly object[]) => {
      const { status, json } = await scim.patch(path, ...operations);
      expect([status, json.detail]).toEqual([200, undefined]);
      return json;
    };
    // RFC 7644, 3.5.2.1 and 3.5.2.3.
    expect(
      await after({ op: 'add', value: { emails: [{ value: 'babs@jensen.org', type: 'home' }], displayName: 'Babs' } }),
    ).toMatchObject({ displayName: 'Babs', emails: [{}, {}, { value: 'babs@jensen.org', type: 'home' }] });
    const work = { op: 'replace', path: 'emails[type eq "work"].value', value: 'work@jensen.org' };
    expect((await after(work)).emails[0]).toMatchObject({ value: 'work@jensen.org', type: 'work', primary: true });
    expect((await after({ op: 'remove', path: 'emails[type eq "home"]' })).emails).toHaveLength(1);
    // Microsoft Entra ID: capitals, a boolean as text, paths as names, attributes that are not kept.
    expect(await after({ op: 'Replace', path: 'active', value: 'False' })).toMatchObject({ active: false });
    const entra = {
      active: 'True',
      'name.familyName': 'Lee',
      'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department': 'x',
    };
    expect(await after({ op: 'Add', value: entra })).toMatchObject({
      active: true,
      name: { familyName: 'Lee', givenName: 'Barbara' },
    });
    expect(await after({ op: 'Add', path: 'emails[type eq "other"].value', value: 'o@jensen.org' })).toMatchObject({
      emails: [{}, { type: 'other', value: 'o@jensen.org' }],
    });
    // Okta: an object without a path.
    expect(await after({ op: 'replace', value: { id, active: false } })).toMatchObject({ id, active: false });
    expect(await after({ op: 'replace', path: 'NAME.givenname', value: 'Ann' })).toMatchObject({
      name: { givenName: 'Ann' },
    });
    expect((await after({ op: 'remove', path: 'displayName' })).displayName).toBeUndefined();

    const refused: readonly (readonly [object, string])[] = [
      [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
      [{ op: 'replace', path: 'a b c', value: 'x' }, 'invalidPath'],
      [{ op: 'replace', path: '__proto__', value: { x: 1 } }, 'invalidPath'],
      [{ op: 'add', value: { constructor: 'x' } }, 'invalidPath'],
      [{ op: 'remove' }, 'noTarget'],
      [{ op: 'remove', path: 'userName' }, 'invalidValue'],
      [{ op: 'replace', path: 'active', value: 'perhaps' }, 'invalidValue'],
      [{ op: 'replace', value: 'x' }, 'invalidValue'],
      [{ op: 'move', path: 'active' }, 'invalidValue'],
    ];
    for (const [operation, scimType] of refused)
      expect([operation, errorOf(await scim.patch(path, operation))]).toEqual([operation, [400, scimType]]);
    // An operation that fails undoes those before it.
    await scim.patch(
      path,
      { op: 'replace', path: 'displayName', value: 'Half' },
      { op: 'replace', path: 'id', value: 'x' },
    );
    expect((await scim.get(path)).json.displayName).toBeUndefined();
    expect(errorOf(await scim.send('PATCH', path, { Operations: [] }))).toEqual([400, 'invalidValue']);

    // Without `active`, a person who left does not come back.
    expect((await after({ op: 'remove', path: 'active' })).active).toBe(false);
    const { json } = await scim.put(path, { schemas: [urns.user], userName });
    expect(json).toMatchObject({ id, userName, active: false });
    expect([json.name, json.emails, json.externalId]).toEqual([undefined, undefined, undefined]);
    expect((await scim.delete(path)).status).toBe(204);
    expect(errorOf(await scim.get(path))).toEqual([404, undefined]);
    expect(errorOf(await scim.delete(path))).toEqual([404, undefined]);
  });

  it('grows a group, one by one, beyond what one request may name', async () => {
    const { rows } = await world.pool.query<{ id: string }>(
      `insert into scim_users (id, user_name, addresses, attributes)
       select gen_random_uuid(), 'many-' || n, '{}', '{}' from generate_series(1, 5000) n returning id`,
    );
    const members = rows.map(({ id: value }) => ({ value }));
    const one = await created();
    const { status, json } = await scim.post('/Groups', {
      displayName: 'Everyone',
      members: [...members, { value: one.id }],
    });
    expect([status, json.detail]).toEqual([400, expect.stringContaining('5000')]);
    const group = (await scim.post('/Groups', { displayName: 'Everyone', members })).json;
    const count = async (operation: object) =>
      (await scim.patch(`/Groups/${group.id}`, operation)).json.members?.length;
    expect(await count({ op: 'add', path: 'members', value: [{ value: one.id }] })).toBe(5001);
    expect(await count({ op: 'remove', path: `members[value eq "${members[0]?.value}"]` })).toBe(5000);
  });

  it('keeps groups and who is in them', async () => {
    const [ann, ben, cat] = [await created(), await created(), await created()];
    const displayName = `Tour Guides ${ann.id}`;
    const members = [{ value: ann.id, display: 'Babs' }, { value: ben.id }];
    const made = await scim.post('/Groups', { schemas: [urns.group], displayName, members });
    expect(made.status).toBe(201);
    const path = `/Groups/${made.json.id}`;
    const idsOf = (group: { members: { value: string }[] }) => group.members.map(({ value }) => value).sort();
    expect(idsOf(made.json)).toEqual([ann.id, ben.id].sort());
    expect(made.json.members[0]).toMatchObject({ type: 'User', $ref: expect.stringContaining(`${base}/Users/`) });
    expect((await scim.get(`/Users/${ann.id}`)).json.groups).toEqual([
      { value: made.json.id, display: displayName, $ref: `${base}${path}`, type: 'Group' },
    ]);
    const filter = encodeURIComponent(`displayName eq "${displayName.toUpperCase()}"`);
    const listed = (await scim.get(`/Groups?filter=${filter}&excludedAttributes=members`)).json;
    expect([listed.totalResults, listed.Resources[0].members]).toEqual([1, undefined]);
    expect((await scim.get(`${path}?excludedAttributes=members`)).json.members).toBeUndefined();

    const after = async (operation: object) => idsOf((await scim.patch(path, operation)).json);
    expect(await after({ op: 'add', path: 'members', value: [{ value: cat.id }, { value: ann.id }] })).toEqual(
      [ann.id, ben.id, cat.id].sort(),
    );
    expect(await after({ op: 'remove', path: `members[value eq "${ann.id}"]` })).toEqual([ben.id, cat.id].sort());
    expect(await after({ op: 'Remove', path: 'members', value: [{ value: ben.id }] })).toEqual([cat.id]);
    expect(await after({ op: 'Add', path: 'members', value: { value: ben.id } })).toEqual([ben.id, cat.id].sort());
    expect(await after({ op: 'replace', path: 'members', value: [{ value: ann.id }] })).toEqual([ann.id]);
    expect(await after({ op: 'remove', path: 'members' })).toEqual([]);
    expect((await scim.patch(path, { op: 'replace', value: { displayName: `Guides ${ann.id}` } })).json).toMatchObject({
      displayName: `Guides ${ann.id}`,
    });

    expect(errorOf(await scim.post('/Groups', { displayName: `guides ${ann.id}` }))).toEqual([409, 'uniqueness']);
    const stranger = { op: 'add', path: 'members', value: [{ value: '2819c223-7f76-453a-919d-413861904646' }] };
    expect(errorOf(await scim.patch(path, stranger))).toEqual([400, 'invalidValue']);
    await scim.put(path, { displayName: 'x', members: [{ value: ann.id }] });
    expect((await scim.delete(`/Users/${ann.id}`)).status).toBe(204);
    expect((await scim.get(path)).json.members).toEqual([]);
    expect((await scim.delete(path)).status).toBe(204);
    expect(errorOf(await scim.get(path))).toEqual([404, undefined]);
  });
});
