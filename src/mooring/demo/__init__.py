"""The programs and data of the demo: what runs inside its pods. It knows nothing of the control plane."""
