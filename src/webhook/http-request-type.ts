/** The built-in type of requests. By itself, so that whoever only has to know the name loads nothing else. */
export const HTTP_REQUEST_TYPE = "http:request";
