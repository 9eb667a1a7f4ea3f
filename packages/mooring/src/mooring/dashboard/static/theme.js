// The chosen theme, before anything is drawn: without it a dark page would flash white.
"use strict";
const chosenTheme = localStorage.getItem("theme");
if (chosenTheme) document.documentElement.dataset.theme = chosenTheme;
