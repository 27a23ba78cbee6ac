/** Where the page is mounted, and where the API is: both as the server wrote them into the page. */

/** The address of the page itself, with a slash at its end. */
export const PAGE_URL = new URL(".", document.baseURI);

/** The address of the API's root, with a slash at its end. */
export const API_URL = new URL(document.querySelector<HTMLMetaElement>('meta[name="millrace-api"]')?.content ?? "../", PAGE_URL);
