/** The cookie that ties a request of an app to the browser in which it began. Its value is the request's id. */
export const requestCookieName = (isSecure: boolean): string => `${isSecure ? '__Secure-' : ''}sotto.connect_request`;

/** Where it goes: each request has one of its own, so that two in one browser do not disturb each other. */
export const requestCookiePath = (uid: string): string => `/v1/connect/interactions/${uid}`;

/** The value of a cookie in a `cookie` header. */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  const pair = header?.split(';').find((each) => each.trim().startsWith(`${name}=`));
  return pair?.trim().slice(name.length + 1);
}
