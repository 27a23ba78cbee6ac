/** Where the page is mounted, and where the API is: both as the server wrote them into the page. */

/** The URL of the page, with a slash at the end. */
export const PAGE_URL = new URL(".", document.baseURI);

/** The URL of the API's root, with a slash at the end. */
export const API_URL = new URL(document.querySelector<HTMLMetaElement>('meta[name="millrace-api"]')?.content ?? "../", PAGE_URL);
